"""Prepares `diamonds`: predict a diamond's price."""

import io

import layout
import pandas as pd

args = layout.arguments()
table = pd.read_csv(io.BytesIO(layout.read_member(args.archive, "plotnine/data/diamonds.csv")))
table = table[[column for column in table if column != "price"] + ["price"]]
table = layout.with_ids(layout.without_repeats(table, ["price"]))
strata = layout.tenths(table["price"])
layout.write_task(args.out, "diamonds", table, "price", sample=4_000, strata=strata, test_share=0.2)
