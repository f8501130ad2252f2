"""Runs the reference solutions of prepared tasks and prints their `[[ladder]]` entries for task.toml.

Usage: python measure_ladder.py TASKS_HOME ID... , with the interpreter that programs run with. Scores are
scikit-learn's, so they also check the grader.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import pandas as pd
import sklearn
from sklearn.metrics import accuracy_score, roc_auc_score

METRICS = {"mlc-churn": roc_auc_score, "titanic-names": accuracy_score}
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def cpu_seconds():
    """CPU seconds of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


home, ids = pathlib.Path(sys.argv[1]), sys.argv[2:]
print(f"# Measured with scikit-learn {sklearn.__version__}; seconds are CPU seconds of the process, one thread.")
for task in ids:
    prepared = home / task / "prepared"
    answers = pd.read_csv(prepared / "private" / "answers.csv")
    halves = pd.read_csv(prepared / "private" / "halves.csv")
    target = answers.columns[1]
    for program in sorted(pathlib.Path(__file__).parent.joinpath(task, "ladder").glob("*.py")):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "data").symlink_to(prepared.resolve() / "public")
            before = cpu_seconds()
            subprocess.run([sys.executable, program.resolve()], cwd=folder, env=ONE_THREAD, check=True)
            seconds = cpu_seconds() - before
            submission = pd.read_csv(pathlib.Path(folder, "submission.csv"))
        rows = answers.merge(halves, on="id").merge(submission, on="id", suffixes=("", "_predicted"))
        scores = {
            half: METRICS[task](part[target], part[target + "_predicted"]) for half, part in rows.groupby("half")
        }
        print(
            f'\n[[ladder]]\nname = "{program.stem}"\nprogram = "ladder/{program.name}"\n'
            f'reward = {scores["reward"]:.5f}\nreport = {scores["report"]:.5f}\ncpu_s = {seconds:.1f}'
        )
