"""Logistic regression."""

import pandas as pd
from sklearn.linear_model import LogisticRegression

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["digit"]
X = train.drop(columns=["id", "digit"]) / 255
X_test = test.drop(columns=["id"]) / 255

model = LogisticRegression(C=0.1, max_iter=200)
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "digit": predictions})
submission.to_csv("submission.csv", index=False)
