"""A random forest of 300 trees, one for each class."""

import pandas as pd
from sklearn.ensemble import RandomForestClassifier

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

classes = [column for column in train.columns if column.startswith("class_")]
y = train[classes]
X = train.drop(columns=["id"] + classes)
X_test = test.drop(columns=["id"])

predictions = {}
for column in classes:
    model = RandomForestClassifier(n_estimators=300, min_samples_leaf=2, random_state=0)
    model.fit(X, y[column])
    predictions[column] = model.predict_proba(X_test)[:, 1]

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
