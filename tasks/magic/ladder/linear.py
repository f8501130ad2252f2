"""Logistic regression on scaled columns."""

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["gamma"]
X = train.drop(columns=["id", "gamma"])
X_test = test.drop(columns=["id"])

model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
model.fit(X, y)
predictions = model.predict_proba(X_test)[:, 1]

submission = pd.DataFrame({"id": test["id"], "gamma": predictions})
submission.to_csv("submission.csv", index=False)
