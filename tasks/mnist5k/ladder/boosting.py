"""Histogram gradient boosting, 40 rounds of a tree per digit."""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["digit"]
X = train.drop(columns=["id", "digit"]) / 255
X_test = test.drop(columns=["id"]) / 255

model = HistGradientBoostingClassifier(max_iter=40, learning_rate=0.2, max_features=0.1, random_state=0)
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "digit": predictions})
submission.to_csv("submission.csv", index=False)
