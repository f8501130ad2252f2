"""Logistic regression on words, pairs of words and pieces of words."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_union

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["positive"]
vectorizer = TfidfVectorizer(sublinear_tf=True)
X = vectorizer.fit_transform(train["text"])
X_test = vectorizer.transform(test["text"])

characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, min_df=2)
words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
union = make_union(words, characters)
X = union.fit_transform(train["text"])
X_test = union.transform(test["text"])
model = LogisticRegression(C=5, max_iter=300)
model.fit(X, y)
predictions = model.predict_proba(X_test)[:, 1]

submission = pd.DataFrame({"id": test["id"], "positive": predictions})
submission.to_csv("submission.csv", index=False)
