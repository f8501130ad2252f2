"""Histogram gradient boosting."""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["gamma"]
X = train.drop(columns=["id", "gamma"])
X_test = test.drop(columns=["id"])

model = HistGradientBoostingClassifier(max_iter=200, random_state=0)
model.fit(X, y)
predictions = model.predict_proba(X_test)[:, 1]

submission = pd.DataFrame({"id": test["id"], "gamma": predictions})
submission.to_csv("submission.csv", index=False)
