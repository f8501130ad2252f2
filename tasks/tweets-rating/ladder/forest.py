"""A random forest of 60 trees on words."""

import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["rating"]
vectorizer = TfidfVectorizer(sublinear_tf=True)
X = vectorizer.fit_transform(train["text"])
X_test = vectorizer.transform(test["text"])

model = RandomForestRegressor(n_estimators=60, min_samples_leaf=3, max_features=0.1, random_state=0)
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "rating": predictions})
submission.to_csv("submission.csv", index=False)
