"""The mean of boosting, a forest and a neural network."""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["gamma"]
X = train.drop(columns=["id", "gamma"])
X_test = test.drop(columns=["id"])

models = [
    HistGradientBoostingClassifier(max_iter=400, learning_rate=0.05, random_state=0),
    RandomForestClassifier(n_estimators=300, min_samples_leaf=2, random_state=0),
    make_pipeline(StandardScaler(), MLPClassifier((64, 64), alpha=0.01, max_iter=60, random_state=0)),
]
predictions = 0
for model in models:
    model.fit(X, y)
    predictions = predictions + model.predict_proba(X_test)[:, 1] / len(models)

submission = pd.DataFrame({"id": test["id"], "gamma": predictions})
submission.to_csv("submission.csv", index=False)
