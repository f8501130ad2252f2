"""Logistic regression on scaled columns."""

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["letter"]
X = train.drop(columns=["id", "letter"])
X_test = test.drop(columns=["id"])
classes = sorted(y.unique())

model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
model.fit(X, y)
predictions = model.predict_proba(X_test)

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
