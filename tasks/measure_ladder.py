"""Runs the reference solutions of prepared tasks and writes their scores and times into task.toml.

Usage: python measure_ladder.py TASKS_HOME ID... , with the interpreter that programs run with; then
`journeyman tasks ladder > tasks/README.md`. Scores are scikit-learn's and scipy's, so they also check the grader.
"""

import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import tomllib

import numpy as np
import pandas as pd
import sklearn
from scipy.stats import pearsonr
from sklearn import metrics

HERE = pathlib.Path(__file__).parent
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def map_at_5(truth, predicted):
    """Mean of 1 / place of the right label, 0 where it is not among the first five."""
    places = [row.split()[:5].index(label) + 1 if label in row.split()[:5] else np.inf for label, row in zip(truth, predicted)]
    return np.mean([1 / place for place in places])


METRICS = {
    "accuracy": metrics.accuracy_score,
    "auc": metrics.roc_auc_score,
    "auc_mean": lambda truth, predicted: metrics.roc_auc_score(truth, predicted, average="macro"),
    "log_loss": metrics.log_loss,
    "mae": metrics.mean_absolute_error,
    "map_at_5": map_at_5,
    "pearson": lambda truth, predicted: pearsonr(truth, predicted).statistic,
    "rmse": metrics.root_mean_squared_error,
    "rmsle": metrics.root_mean_squared_log_error,
}


def cpu_seconds():
    """CPU seconds of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(program, public):
    """The submission of a program, and its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "data").symlink_to(public.resolve())
        before = cpu_seconds()
        subprocess.run([sys.executable, "-W", "ignore", program.resolve()], cwd=folder, env=ONE_THREAD, check=True)
        return pd.read_csv(pathlib.Path(folder, "submission.csv")), cpu_seconds() - before


def scores(definition, private, submission):
    """The score on either half, to five digits."""
    targets = definition["target_columns"]
    targets = targets[0] if len(targets) == 1 else targets
    answers = pd.read_csv(private / "answers.csv").set_index("id")
    halves = pd.read_csv(private / "halves.csv").set_index("id")["half"].loc[answers.index]
    predicted = submission.set_index("id").loc[answers.index]
    metric = METRICS[definition["metric"]]
    return {
        half: round(float(metric(answers.loc[rows, targets], predicted.loc[rows, targets])), 5)
        for half, rows in halves.groupby(halves).groups.items()
    }


def measure(task, prepared):
    """Measures a task's ladder and writes it."""
    path = HERE / task / "task.toml"
    text = path.read_text()
    definition = tomllib.loads(text)
    sample = scores(definition, prepared / "private", pd.read_csv(prepared / "public" / "sample_submission.csv"))
    rungs = []
    for program in sorted((HERE / task / "ladder").glob("*.py")):
        submission, seconds = run(program, prepared / "public")
        score = scores(definition, prepared / "private", submission)
        rungs.append((program, score["reward"], score["report"], seconds))
        print(f"{task} {program.stem}: {score['reward']} {score['report']}, {seconds:.1f} s", flush=True)
    rungs.sort(key=lambda rung: rung[1], reverse=definition["lower_is_better"])

    text = re.sub(r"(?m)^worst = .*$", f"worst = {sample['reward']}", text, count=1)
    text = re.sub(r"(?m)^best = .*$", f"best = {rungs[-1][1]}", text, count=1)
    text = text.split("\n# Measured with ")[0].rstrip("\n") + (
        f"\n\n# Measured with scikit-learn {sklearn.__version__} by measure_ladder.py on two busy cores.\n"
    )
    for program, reward, report, seconds in rungs:
        text += (
            f'[[ladder]]\nname = "{program.stem}"\nprogram = "ladder/{program.name}"\n'
            f"reward = {reward}\nreport = {report}\ncpu_s = {seconds:.1f}\n\n"
        )
    path.write_text(text.rstrip("\n") + "\n")


for name in sys.argv[2:]:
    measure(name, pathlib.Path(sys.argv[1]) / name / "prepared")
