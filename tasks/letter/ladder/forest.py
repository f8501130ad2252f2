"""A random forest of 300 trees."""

import pandas as pd
from sklearn.ensemble import RandomForestClassifier

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["letter"]
X = train.drop(columns=["id", "letter"])
X_test = test.drop(columns=["id"])
classes = sorted(y.unique())

model = RandomForestClassifier(n_estimators=300, random_state=0)
model.fit(X, y)
predictions = model.predict_proba(X_test)

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
