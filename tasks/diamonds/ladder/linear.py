"""Ridge regression on scaled columns."""

import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["price"]
X = pd.get_dummies(train.drop(columns=["id", "price"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)

model = make_pipeline(StandardScaler(), Ridge())
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "price": predictions})
submission.to_csv("submission.csv", index=False)
