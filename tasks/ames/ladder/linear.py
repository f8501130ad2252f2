"""Ridge regression of the logarithm of the price."""

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["Sale_Price"]
X = pd.get_dummies(train.drop(columns=["id", "Sale_Price"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

model = make_pipeline(StandardScaler(), Ridge(30))
model.fit(X, np.log1p(y))
predictions = np.expm1(model.predict(X_test))

submission = pd.DataFrame({"id": test["id"], "Sale_Price": predictions})
submission.to_csv("submission.csv", index=False)
