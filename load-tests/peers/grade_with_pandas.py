"""The grading path of MLE-bench, warm: read the submission with pandas, check it, score it with scikit-learn.

Reads one command per line from standard input, as JSON, and answers each with one line of JSON:

    {"op": "load", "answers": PATH, "halves": PATH, "metric": "auc" | "rmse", "id": COLUMN, "target": COLUMN,
     "keep": true | false}
    {"op": "grade", "submission": PATH}            -> {"score": over all rows}
    {"op": "halves", "submission": PATH}           -> {"reward": ..., "report": ...}
"""

import json
import sys

import numpy
import pandas
import sklearn
from sklearn.metrics import mean_squared_error, roc_auc_score


def read(path):
    return pandas.read_csv(path, float_precision="round_trip")


def checked(submission, answers, ids, target):
    """Truth and predictions in the order of the ids."""
    for name in (ids, target):
        if name not in submission.columns:
            raise ValueError(f"column {name} is missing")
    if len(submission) != len(answers):
        raise ValueError("wrong number of rows")
    submission = submission.sort_values(ids)
    answers = answers.sort_values(ids)
    if not numpy.array_equal(submission[ids].to_numpy(), answers[ids].to_numpy()):
        raise ValueError("the ids differ")
    predicted = submission[target]
    if not pandas.api.types.is_numeric_dtype(predicted):
        raise ValueError("predictions are not numbers")
    if predicted.isna().any():
        raise ValueError("predictions are missing")
    return answers[target].to_numpy(), predicted.to_numpy()


def auc(truth, predicted):
    if not ((predicted >= 0) & (predicted <= 1)).all():
        raise ValueError("predictions are not between 0 and 1")
    return roc_auc_score(truth, predicted)


def rmse(truth, predicted):
    return mean_squared_error(truth, predicted) ** 0.5


class Task:
    def __init__(self, answers, halves, metric, id, target, keep):
        self.id, self.target = id, target
        self.path = answers
        self.kept = read(answers) if keep else None
        self.halves = halves
        self.metric = {"auc": auc, "rmse": rmse}[metric]

    def grade(self, path):
        answers = read(self.path) if self.kept is None else self.kept
        return {"score": float(self.metric(*checked(read(path), answers, self.id, self.target)))}

    def grade_halves(self, path):
        both = read(self.path).merge(read(path), on=self.id).merge(read(self.halves), on=self.id)
        scores = {}
        for half in ("reward", "report"):
            rows = both[both["half"] == half]
            scores[half] = float(self.metric(rows[self.target + "_x"].to_numpy(), rows[self.target + "_y"].to_numpy()))
        return scores


def main():
    versions = {"numpy": numpy.__version__, "pandas": pandas.__version__, "scikit-learn": sklearn.__version__}
    print(json.dumps(versions), flush=True)
    task = None
    for line in sys.stdin:
        command = json.loads(line)
        op = command.pop("op")
        if op == "load":
            task, answer = Task(**command), {}
        elif op == "grade":
            answer = task.grade(command["submission"])
        else:
            answer = task.grade_halves(command["submission"])
        print(json.dumps(answer), flush=True)


main()
