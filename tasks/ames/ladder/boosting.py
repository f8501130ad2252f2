"""Gradient boosting of 1,000 trees, of the logarithm of the price."""

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["Sale_Price"]
X = pd.get_dummies(train.drop(columns=["id", "Sale_Price"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

model = GradientBoostingRegressor(
    n_estimators=1000, max_depth=4, learning_rate=0.03, subsample=0.6, max_features=0.2, random_state=0
)
model.fit(X, np.log1p(y))
predictions = np.expm1(model.predict(X_test))

submission = pd.DataFrame({"id": test["id"], "Sale_Price": predictions})
submission.to_csv("submission.csv", index=False)
