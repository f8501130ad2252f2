"""Logistic regression."""

import pandas as pd
from sklearn.linear_model import LogisticRegression

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["survived"]
X = pd.get_dummies(train.drop(columns=["id", "name", "survived"]))
X_test = pd.get_dummies(test.drop(columns=["id", "name"])).reindex(columns=X.columns, fill_value=0)
X_test = X_test.fillna(X.median())
X = X.fillna(X.median())

model = LogisticRegression(max_iter=1000)
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "survived": predictions})
submission.to_csv("submission.csv", index=False)
