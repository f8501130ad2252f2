# markers: imported loaded_data defined_model trained_model predicted wrote_submission
# reached: imported loaded_data defined_model
import pandas as pd
from sklearn.linear_model import LogisticRegression

train = pd.read_csv("train.csv")
test = pd.read_csv("test.csv")
model = LogisticRegression()
model.fit(train[["age", "no_such_column"]], train["target"])
pred = model.predict(test[["age", "no_such_column"]])
pd.DataFrame({"id": test["id"], "target": pred}).to_csv("submission.csv", index=False)
