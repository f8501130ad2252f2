"""The same probability for every letter."""

import numpy as np
import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["letter"]
X = train.drop(columns=["id", "letter"])
X_test = test.drop(columns=["id"])
classes = sorted(y.unique())

predictions = np.full((len(X_test), len(classes)), 1 / len(classes))

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
