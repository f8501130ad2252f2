"""A support vector machine, one for each class."""

import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

classes = [column for column in train.columns if column.startswith("class_")]
y = train[classes]
X = train.drop(columns=["id"] + classes)
X_test = test.drop(columns=["id"])

predictions = {}
for column in classes:
    model = make_pipeline(StandardScaler(), SVC(C=1))
    model.fit(X, y[column])
    margins = pd.Series(model.decision_function(X_test))
    predictions[column] = margins.rank(pct=True)

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
