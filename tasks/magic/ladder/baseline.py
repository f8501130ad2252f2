"""The same probability for every shower."""

import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["gamma"]
X = train.drop(columns=["id", "gamma"])
X_test = test.drop(columns=["id"])

predictions = [0.5] * len(X_test)

submission = pd.DataFrame({"id": test["id"], "gamma": predictions})
submission.to_csv("submission.csv", index=False)
