# markers: imported loaded_data defined_model trained_model predicted wrote_submission
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

train = pd.read_csv("train.csv")
test = pd.read_csv("test.csv")
X = pd.get_dummies(train.drop(columns=["id", "target"]))
X_test = pd.get_dummies(test.drop(columns=["id"])).reindex(columns=X.columns, fill_value=0)
y = train["target"]

model = RandomForestClassifier(n_estimators=10, random_state=0)
model.fit(X, y)
pred = model.predict_proba(X_test)[:, 1]

pd.DataFrame({"id": test["id"], "target": pred}).to_csv("submission.csv", index=False)
