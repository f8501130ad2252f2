"""Prepares `yeast-multilabel`: predict the functional classes of genes."""

import gzip
import io

import layout
import pandas as pd

args = layout.arguments()
table = pd.read_csv(io.BytesIO(gzip.decompress(layout.read_member(args.archive, "river/datasets/yeast.csv.gz"))))
table.columns = [column.replace("Att", "att_").replace("Class", "class_") for column in table.columns]
classes = [column for column in table if column.startswith("class_")]
table = layout.with_ids(layout.without_repeats(table, classes))
# By each gene's rarest class, so that both halves of the test have every class.
by_frequency = table[classes].sum().sort_values().index
strata = table[by_frequency].to_numpy().argmax(axis=1)
layout.write_task(args.out, "yeast-multilabel", table, classes, sample=0.5, strata=strata)
