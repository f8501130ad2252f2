"""The most frequent destinations, for every flight."""

import numpy as np
import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["dest"]
X = pd.get_dummies(train.drop(columns=["id", "dest"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)
classes = sorted(y.unique())

shares = y.value_counts(normalize=True)
predictions = [[shares[label] for label in classes]] * len(X_test)

best = np.argsort(-np.asarray(predictions), axis=1)[:, :5]
submission = pd.DataFrame({"id": test["id"], "dest": [" ".join(classes[place] for place in row) for row in best]})
submission.to_csv("submission.csv", index=False)
