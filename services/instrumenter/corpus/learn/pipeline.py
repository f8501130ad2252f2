# markers: imported loaded_data defined_model trained_model predicted wrote_submission
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
numeric = ["age", "charge"]
imputer = SimpleImputer()
imputer.fit(train[numeric])
scaler = StandardScaler().fit(imputer.transform(train[numeric]))
print(np.round(scaler.mean_, 3))

steps = ColumnTransformer([("num", StandardScaler(), numeric), ("cat", OneHotEncoder(), ["plan"])])
pipe = Pipeline([("prepare", steps), ("model", LogisticRegression(max_iter=500))])
pipe.fit(train, train["target"])

submission = test[["id"]].copy()
submission["target"] = pipe.predict_proba(test)[:, 1]
submission.to_csv("submission.csv", index=False)
print(submission.head())
