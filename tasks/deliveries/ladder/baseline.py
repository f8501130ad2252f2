"""The median, for every order."""

import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["time_to_delivery"]
X = pd.get_dummies(train.drop(columns=["id", "time_to_delivery"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

predictions = [y.median()] * len(X_test)

submission = pd.DataFrame({"id": test["id"], "time_to_delivery": predictions})
submission.to_csv("submission.csv", index=False)
