import pandas as pd

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")

classes = [column for column in train.columns if column.startswith("class_")]
y = train[classes]
X = train.drop(columns=["id"] + classes)
X_test = test.drop(columns=["id"])

# TODO: train a model on X and y, and set predictions (for each row of X_test one probability per class)

submission = pd.DataFrame(predictions, columns=classes)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
