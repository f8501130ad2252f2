"""The same probability for every species."""

import numpy as np
import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["species"]
X = pd.get_dummies(train.drop(columns=["id", "species"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)
classes = sorted(y.unique())

predictions = np.full((len(X_test), len(classes)), 1 / len(classes))

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
