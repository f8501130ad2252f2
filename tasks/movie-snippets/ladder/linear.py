"""Logistic regression on words."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["positive"]
vectorizer = TfidfVectorizer(sublinear_tf=True)
X = vectorizer.fit_transform(train["text"])
X_test = vectorizer.transform(test["text"])

model = LogisticRegression(C=2, max_iter=300)
model.fit(X, y)
predictions = model.predict_proba(X_test)[:, 1]

submission = pd.DataFrame({"id": test["id"], "positive": predictions})
submission.to_csv("submission.csv", index=False)
