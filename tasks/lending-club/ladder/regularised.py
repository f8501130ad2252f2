"""Logistic regression on scaled columns, strongly regularised."""

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["bad"]
X = pd.get_dummies(train.drop(columns=["id", "bad"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

model = make_pipeline(StandardScaler(), LogisticRegression(C=0.003, max_iter=1000))
model.fit(X, y)
predictions = model.predict_proba(X_test)[:, 1]

submission = pd.DataFrame({"id": test["id"], "bad": predictions})
submission.to_csv("submission.csv", index=False)
