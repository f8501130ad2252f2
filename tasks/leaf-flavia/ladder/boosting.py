"""Histogram gradient boosting."""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["species"]
X = pd.get_dummies(train.drop(columns=["id", "species"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)
classes = sorted(y.unique())

model = HistGradientBoostingClassifier(max_iter=100, random_state=0)
model.fit(X, y)
predictions = model.predict_proba(X_test)

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
