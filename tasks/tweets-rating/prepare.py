"""Prepares `tweets-rating`: predict how people rate a tweet's mood."""

import io

import layout
import pandas as pd

args = layout.arguments()
inner = layout.read_member(args.archive, "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz")
text = layout.read_member(io.BytesIO(inner), "hutto_ICWSM_2014/tweets_GroundTruth.txt").decode("utf-8")
rows = [line.split("\t") for line in text.splitlines() if line]
table = pd.DataFrame({"text": [row[2].strip() for row in rows], "rating": [float(row[1]) for row in rows]})
table = layout.with_ids(layout.without_repeated_texts(table, "text"))
strata = layout.tenths(table["rating"])
# Constant predictions have no correlation, so the sample is the length of the text.
layout.write_task(args.out, "tweets-rating", table, "rating", sample=table["text"].str.len(), strata=strata)
