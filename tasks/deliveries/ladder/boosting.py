"""Histogram gradient boosting of the absolute error."""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["time_to_delivery"]
X = pd.get_dummies(train.drop(columns=["id", "time_to_delivery"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

model = HistGradientBoostingRegressor(loss="absolute_error", max_iter=300, random_state=0)
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "time_to_delivery": predictions})
submission.to_csv("submission.csv", index=False)
