"""The same probability for every loan."""

import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["bad"]
X = pd.get_dummies(train.drop(columns=["id", "bad"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

predictions = [0.5] * len(X_test)

submission = pd.DataFrame({"id": test["id"], "bad": predictions})
submission.to_csv("submission.csv", index=False)
