"""A support vector machine."""

import pandas as pd
from sklearn.svm import SVC

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["digit"]
X = train.drop(columns=["id", "digit"]) / 255
X_test = test.drop(columns=["id"]) / 255

model = SVC(C=10, gamma=0.02)
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "digit": predictions})
submission.to_csv("submission.csv", index=False)
