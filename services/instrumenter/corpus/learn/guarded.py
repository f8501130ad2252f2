# markers: imported loaded_data defined_model trained_model predicted wrote_submission
import pandas as pd
try:
    import xgboost as xgb
    make = lambda: xgb.XGBClassifier(n_estimators=5)
except ImportError:
    from sklearn.ensemble import ExtraTreesClassifier
    make = lambda: ExtraTreesClassifier(n_estimators=5, random_state=0)

try:
    train = pd.read_csv("missing.csv")
except FileNotFoundError as error:
    print("fallback:", error)
    train = pd.read_csv("train.csv")
test = pd.read_csv("test.csv")
train.to_csv("copy.csv", index=False)
models = {}
for name in ["one", "two"]:
    models[name] = clf = make()
    clf.fit(train[["age", "charge"]].fillna(0), train.target)
out = sum(models[name].predict_proba(test[["age", "charge"]])[:, 1] for name in models) / len(models)
if len(out) == len(test):
    result = pd.DataFrame(dict(id=test.id, target=clf.predict_proba(test[["age", "charge"]])[:, 1])); result.to_csv("submission.csv", index=False)
