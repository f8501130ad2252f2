"""Prepares `movie-snippets`: tell whether a snippet of a film review is meant well."""

import io

import layout
import pandas as pd

args = layout.arguments()
inner = layout.read_member(args.archive, "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz")
text = layout.read_member(io.BytesIO(inner), "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt").decode("utf-8")
rows = [line.split("\t") for line in text.splitlines() if line]
table = pd.DataFrame({"text": [row[2].strip() for row in rows], "positive": [int(float(row[1]) > 0) for row in rows]})
table = layout.with_ids(layout.without_repeated_texts(table, "text"))
layout.write_task(args.out, "movie-snippets", table, "positive", sample=0.5)
