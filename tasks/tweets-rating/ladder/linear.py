"""Ridge regression on words."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["rating"]
vectorizer = TfidfVectorizer(sublinear_tf=True)
X = vectorizer.fit_transform(train["text"])
X_test = vectorizer.transform(test["text"])

model = Ridge()
model.fit(X, y)
predictions = model.predict(X_test)

submission = pd.DataFrame({"id": test["id"], "rating": predictions})
submission.to_csv("submission.csv", index=False)
