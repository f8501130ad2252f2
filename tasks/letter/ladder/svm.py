"""A support vector machine with calibrated probabilities."""

import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["letter"]
X = train.drop(columns=["id", "letter"])
X_test = test.drop(columns=["id"])
classes = sorted(y.unique())

model = make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(C=20, gamma=0.15), ensemble=False, cv=3))
model.fit(X, y)
predictions = model.predict_proba(X_test)

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
