import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

y = train["species"]
X = pd.get_dummies(train.drop(columns=["id", "species"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)
classes = sorted(y.unique())

# TODO: train a model on X and y, and set predictions (for each row of X_test one probability per class, in the order of classes)

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
