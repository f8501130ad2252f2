import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["gamma"]
X = train.drop(columns=["id", "gamma"])
X_test = test.drop(columns=["id"])

# TODO: train a model on X and y, and set predictions (one number per row of X_test)

submission = pd.DataFrame({"id": test["id"], "gamma": predictions})
submission.to_csv("submission.csv", index=False)
