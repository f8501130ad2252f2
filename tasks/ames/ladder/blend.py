"""The mean of boosting and ridge regression, both of the logarithm of the price."""

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["Sale_Price"]
X = pd.get_dummies(train.drop(columns=["id", "Sale_Price"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

models = [
    GradientBoostingRegressor(
        n_estimators=2000, max_depth=4, learning_rate=0.02, subsample=0.6, max_features=0.1, random_state=0
    ),
    make_pipeline(StandardScaler(), Ridge(100)),
]
shares = [0.75, 0.25]
logarithms = 0
for model, share in zip(models, shares):
    model.fit(X, np.log1p(y))
    logarithms = logarithms + share * model.predict(X_test)
predictions = np.expm1(logarithms)

submission = pd.DataFrame({"id": test["id"], "Sale_Price": predictions})
submission.to_csv("submission.csv", index=False)
