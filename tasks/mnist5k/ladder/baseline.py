"""Every digit is a 0."""

import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["digit"]
X = train.drop(columns=["id", "digit"]) / 255
X_test = test.drop(columns=["id"]) / 255

predictions = [0] * len(X_test)

submission = pd.DataFrame({"id": test["id"], "digit": predictions})
submission.to_csv("submission.csv", index=False)
