"""Writes metrics.json: scores by scikit-learn that `metric` must reproduce.

Made with scikit-learn 1.9.1 and numpy 2.4.6: python make_metrics.py > metrics.json
"""

import json

import numpy as np
import sklearn
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score, root_mean_squared_error

rng = np.random.default_rng(0)
cases = []


def add(metric, note, truth, predicted, score, classes=0):
    """One case; a matrix of probabilities is written row by row."""
    predicted = np.asarray(predicted)
    cases.append({
        "metric": metric,
        "note": note,
        "classes": classes,
        "truth": np.asarray(truth).tolist(),
        "predicted": predicted.ravel().tolist(),
        "score": float(score),
    })


def add_auc(note, truth, predicted):
    add("auc", note, truth, predicted, roc_auc_score(truth, predicted))


def add_log_loss(note, truth, predicted):
    add("log_loss", note, truth, predicted, log_loss(truth, predicted, labels=[0, 1]))


def add_log_loss_multi(note, truth, predicted, classes):
    score = log_loss(truth, predicted, labels=list(range(classes)))
    add("log_loss_multi", note, truth, predicted, score, classes)


def truth_of(n):
    truth = rng.integers(0, 2, n)
    truth[:2] = [0, 1]
    return truth


for n in [2, 3, 7, 20, 60]:
    add_auc("random", truth_of(n), rng.random(n).round(6))
    add_auc("ties", truth_of(n), rng.integers(0, 3, n) / 2)
    add_auc("hard labels", truth_of(n), rng.integers(0, 2, n).astype(float))
    add_log_loss("random", truth_of(n), rng.random(n).round(6))
    add("rmse", "random", rng.normal(size=n).round(6), rng.normal(size=n).round(6), 0)
    add("rmse", "far apart", (rng.normal(size=n) * 1e9).round(3), rng.normal(size=n).round(6), 0)
    add("accuracy", "random", rng.integers(0, 4, n), rng.integers(0, 4, n), 0)
    for classes in [2, 3, 10]:
        truth = rng.integers(0, classes, n)
        p = rng.dirichlet(np.ones(classes), n)
        add_log_loss_multi("random", truth, p, classes)
add_auc("constant", [0, 1, 1, 0], [0.5] * 4)
add_auc("perfect", [0, 0, 1], [0.1, 0.2, 0.3])
add_auc("reversed", [0, 0, 1], [0.3, 0.2, 0.1])
add_auc("one positive", [0] * 19 + [1], [0.5] * 10 + [0.4] * 9 + [0.5])
add_auc("negative zero ties with zero", [0, 1, 1], [0.0, -0.0, 1.0])
add_auc("tiny gaps", [0, 1, 0, 1], [1e-300, 2e-300, 1e-16, 1.0000000000000002e-16])
add_log_loss("certain and right", [0, 1, 1], [0.0, 1.0, 1.0])
add_log_loss("certain and wrong", [0, 1, 1], [1.0, 0.0, 0.0])
add_log_loss("below the clip", [0, 1], [1e-17, 1e-300])
add_log_loss("all of one class", [1, 1, 1], [0.2, 0.9, 0.7])
add_log_loss_multi("one-hot", [0, 1, 2], np.eye(3), 3)
add_log_loss_multi("one-hot and wrong", [1, 2, 0], np.eye(3), 3)
add("rmse", "equal", [1.5, -2.5], [1.5, -2.5], 0)
add("rmse", "one row", [0.0], [3.0], 0)

for case in cases:
    if case["metric"] == "rmse":
        case["score"] = float(root_mean_squared_error(case["truth"], case["predicted"]))
    if case["metric"] == "accuracy":
        case["score"] = float(accuracy_score(case["truth"], case["predicted"]))

lines = ",\n".join(json.dumps(case) for case in cases)
print(f'{{"scikit_learn": "{sklearn.__version__}", "cases": [\n{lines}\n]}}')
