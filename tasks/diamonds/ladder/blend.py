"""The mean of three histogram gradient boostings of the logarithm of the price and one of the price."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["price"]
X = pd.get_dummies(train.drop(columns=["id", "price"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

predictions = 0
for seed in range(3):
    model = HistGradientBoostingRegressor(max_iter=400, learning_rate=0.06, max_features=0.6, random_state=seed)
    model.fit(X, np.log(y))
    predictions = predictions + np.exp(model.predict(X_test)) / 6
model = HistGradientBoostingRegressor(max_iter=400, learning_rate=0.06, max_features=0.6, random_state=3)
model.fit(X, y)
predictions = predictions + model.predict(X_test) / 2

submission = pd.DataFrame({"id": test["id"], "price": predictions})
submission.to_csv("submission.csv", index=False)
