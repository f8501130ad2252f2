"""Writes metrics.json: scores by scikit-learn and scipy that the metrics must reproduce.

Made with scikit-learn 1.5.1, numpy 1.26.4 and scipy 1.14.1: python make_metrics.py > metrics.json

Each case holds its numbers as text, so that no reader of JSON rounds them: values by blanks, rows by semicolons.
"""

import json
import math

import numpy as np
import sklearn
from scipy import stats
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer

rng = np.random.default_rng(0)
cases = []


def text(values):
    values = np.asarray(values)
    if values.ndim == 2:
        return ";".join(text(row) for row in values)
    return " ".join(repr(float(value)) for value in values)


def add(metric, note, truth, predicted, score, size=0):
    """One case; `size` is the number of classes, or k."""
    truth = truth if isinstance(truth, str) else text(truth)
    predicted = predicted if isinstance(predicted, str) else text(predicted)
    cases.append({"metric": metric, "note": note, "size": size, "truth": truth, "predicted": predicted,
                  "score": repr(float(score))})


def add_auc(note, truth, predicted):
    add("auc", note, truth, predicted, metrics.roc_auc_score(truth, predicted))


def add_log_loss(note, truth, predicted):
    add("log_loss", note, truth, predicted, metrics.log_loss(truth, predicted, labels=[0, 1]))


def add_log_loss_multi(note, truth, predicted):
    classes = np.shape(predicted)[1]
    score = metrics.log_loss(truth, predicted, labels=list(range(classes)))
    add("log_loss_multi", note, truth, predicted, score, classes)


def add_labels(note, truth, predicted):
    add("accuracy", note, truth, predicted, metrics.accuracy_score(truth, predicted))
    add("f1_macro", note, truth, predicted, metrics.f1_score(truth, predicted, average="macro"))
    add("mcc", note, truth, predicted, metrics.matthews_corrcoef(truth, predicted))
    kappa = metrics.cohen_kappa_score(truth, predicted, weights="quadratic")
    if not math.isnan(kappa):
        add("qwk", note, truth, predicted, kappa)


def add_numbers(note, truth, predicted):
    add("rmse", note, truth, predicted, metrics.root_mean_squared_error(truth, predicted))
    add("mae", note, truth, predicted, metrics.mean_absolute_error(truth, predicted))
    if min(truth) >= 0 and min(predicted) >= 0:
        add("rmsle", note, truth, predicted, metrics.root_mean_squared_log_error(truth, predicted))
    if len(truth) > 1 and min(truth) < max(truth) and min(predicted) < max(predicted):
        add("pearson", note, truth, predicted, stats.pearsonr(truth, predicted).statistic)
        add("spearman", note, truth, predicted, stats.spearmanr(truth, predicted).statistic)


def add_sets(note, truth, predicted):
    binarizer = MultiLabelBinarizer().fit(truth + predicted)
    score = metrics.f1_score(binarizer.transform(truth), binarizer.transform(predicted), average="micro", zero_division=0)
    add("f1_micro", note, ";".join(map(text, truth)), ";".join(map(text, predicted)), score)


def add_map(note, truth, predicted, k):
    """Average precision from its definition: precision at each first hit, over min(right answers, k)."""
    def one(right, guesses):
        cut = guesses[:k]
        firsts = [i for i, guess in enumerate(cut) if guess in right and guess not in cut[:i]]
        return sum((hit + 1) / (i + 1) for hit, i in enumerate(firsts)) / min(len(right), k)

    score = np.mean([one(right, guesses) for right, guesses in zip(truth, predicted)])
    add("map_at_k", note, ";".join(map(text, truth)), ";".join(map(text, predicted)), score, k)


def truth_of(n):
    truth = rng.integers(0, 2, n)
    truth[:2] = [0, 1]
    return truth


def sets_of(n, labels):
    return [sorted(rng.choice(labels, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]


for n in [2, 3, 7, 8, 20, 60, 130]:
    add_auc("random", truth_of(n), rng.random(n).round(6))
    add_auc("ties", truth_of(n), rng.integers(0, 3, n) / 2)
    add_auc("few ties", truth_of(n), rng.integers(0, n, n) / n)
    add_auc("hard labels", truth_of(n), rng.integers(0, 2, n).astype(float))
    add_auc("any numbers", truth_of(n), rng.normal(size=n).round(3) * 1e9)
    add_log_loss("random", truth_of(n), rng.random(n).round(6))
    add_numbers("random", rng.normal(size=n).round(6), rng.normal(size=n).round(6))
    add_numbers("counts", rng.integers(0, 5, n).astype(float), rng.integers(0, 4, n).astype(float))
    add_numbers("far apart", (rng.normal(size=n) * 1e9).round(3), rng.normal(size=n).round(6))
    add_numbers("prices", (rng.random(n) * 1e6).round(2), (rng.random(n) * 1e6).round(2))
    for labels in [2, 3, 10, 40]:
        add_labels("random", rng.integers(0, labels, n), rng.integers(0, labels, n))
        add_labels("gaps between labels", rng.integers(0, labels, n) ** 2, rng.integers(0, labels, n) ** 2)
    if n < 100:
        add_labels("near", rng.integers(0, 5, n), rng.integers(0, 5, n).clip(1, 3))
        for classes in [2, 3, 10]:
            add_log_loss_multi("random", rng.integers(0, classes, n), rng.dirichlet(np.ones(classes), n))
        add_sets("random", sets_of(n, 6), sets_of(n, 7))
        for k in [1, 5, 12]:
            add_map("random", sets_of(n, 8), [rng.integers(0, 10, rng.integers(1, 15)).tolist() for _ in range(n)], k)
# Longer than the piece that numpy's reduction sums at a time.
for n in [8200]:
    add("rmse", "long", truth := rng.integers(0, 99, n) / 8, predicted := rng.integers(0, 99, n) / 10,
        metrics.root_mean_squared_error(truth, predicted))
    add("mae", "long", truth, predicted, metrics.mean_absolute_error(truth, predicted))
    add_auc("long", truth_of(n), rng.integers(0, 10 * n, n) / 1000)

add_auc("constant", [0, 1, 1, 0], [0.5] * 4)
add_auc("perfect", [0, 0, 1], [0.1, 0.2, 0.3])
add_auc("reversed", [0, 0, 1], [0.3, 0.2, 0.1])
add_auc("one positive", [0] * 19 + [1], [0.5] * 10 + [0.4] * 9 + [0.5])
add_auc("negative zero ties with zero", [0, 1, 1], [0.0, -0.0, 1.0])
add_auc("tiny gaps", [0, 1, 0, 1], [1e-300, 2e-300, 1e-16, 1.0000000000000002e-16])
add_auc("huge values", [0, 1, 0, 1], [1.7e308, 1.6e308, -1.7e308, -1.6e308])
add_log_loss("certain and right", [0, 1, 1], [0.0, 1.0, 1.0])
add_log_loss("certain and wrong", [0, 1, 1], [1.0, 0.0, 0.0])
add_log_loss("below the clip", [0, 1], [1e-17, 1e-300])
add_log_loss("beyond 0 and 1", [0, 1, 0, 1], [1.5, 1.5, -0.5, -0.5])
add_log_loss("all of one class", [1, 1, 1], [0.2, 0.9, 0.7])
add_log_loss_multi("one-hot", [0, 1, 2], np.eye(3))
add_log_loss_multi("one-hot and wrong", [1, 2, 0], np.eye(3))
add_log_loss_multi("not renormalised", [0, 1], [[0.5, 0.1], [0.2, 0.3]])
add_labels("all right", [1, 2, 3], [1, 2, 3])
add_labels("never right", [1, 1, 2], [2, 2, 1])
add_labels("label that the truth lacks", [0, 1, 2, 2], [0, 1, 9, 2])
add_labels("one label against two", [1, 1, 1], [1, 1, 2])
add_numbers("equal", [1.5, -2.5], [1.5, -2.5])
add_numbers("one row", [0.0], [3.0])
add_numbers("too large for squares", [1e200, 0.0], [0.0, 1e200])
add_numbers("nearly constant", [1.0, 2.0, 3.0], [1e6, 1e6 + 1e-9, 1e6])
add_sets("none in common", [[1, 2], [3]], [[3], [1]])
add_map("perfect", [[1, 2]], [[1, 2]], 12)
add_map("a guess made again", [[1, 2]], [[1, 1, 2]], 12)

print('{"scikit_learn": "%s", "cases": [' % sklearn.__version__)
print(",\n".join(json.dumps(case) for case in cases))
print("]}")
