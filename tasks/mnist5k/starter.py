import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["digit"]
X = train.drop(columns=["id", "digit"]) / 255
X_test = test.drop(columns=["id"]) / 255

# TODO: train a model on X and y, and set predictions (one label, 0 to 9, per row of X_test)

submission = pd.DataFrame({"id": test["id"], "digit": predictions})
submission.to_csv("submission.csv", index=False)
