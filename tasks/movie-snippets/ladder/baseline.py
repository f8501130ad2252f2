"""The same probability for every snippet."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["positive"]
vectorizer = TfidfVectorizer(sublinear_tf=True)
X = vectorizer.fit_transform(train["text"])
X_test = vectorizer.transform(test["text"])

predictions = [0.5] * len(test)

submission = pd.DataFrame({"id": test["id"], "positive": predictions})
submission.to_csv("submission.csv", index=False)
