import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["letter"]
X = train.drop(columns=["id", "letter"])
X_test = test.drop(columns=["id"])
classes = sorted(y.unique())

# TODO: train a model on X and y, and set predictions (for each row of X_test one probability per class, in the order of classes)

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
