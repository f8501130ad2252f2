"""Histogram gradient boosting on 100 components of the words."""

import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["rating"]
vectorizer = TfidfVectorizer(sublinear_tf=True)
X = vectorizer.fit_transform(train["text"])
X_test = vectorizer.transform(test["text"])

reduction = TruncatedSVD(100, random_state=0)
X = reduction.fit_transform(X)
X_test = reduction.transform(X_test)
model = HistGradientBoostingRegressor(max_iter=200, learning_rate=0.05, random_state=0)
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "rating": predictions})
submission.to_csv("submission.csv", index=False)
