"""Histogram gradient boosting."""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["bad"]
X = pd.get_dummies(train.drop(columns=["id", "bad"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

model = HistGradientBoostingClassifier(max_iter=200, learning_rate=0.03, random_state=0)
model.fit(X, y)
predictions = model.predict_proba(X_test)[:, 1]

submission = pd.DataFrame({"id": test["id"], "bad": predictions})
submission.to_csv("submission.csv", index=False)
