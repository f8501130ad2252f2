"""Ridge regression on words, pairs of words and pieces of words."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_union

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["rating"]
vectorizer = TfidfVectorizer(sublinear_tf=True)
X = vectorizer.fit_transform(train["text"])
X_test = vectorizer.transform(test["text"])

characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, min_df=2)
words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
union = make_union(words, characters)
X = union.fit_transform(train["text"])
X_test = union.transform(test["text"])
model = Ridge(1.0)
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "rating": predictions})
submission.to_csv("submission.csv", index=False)
