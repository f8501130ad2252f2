# markers: imported loaded_data defined_model trained_model predicted wrote_submission
import warnings; warnings.filterwarnings("ignore")
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier as Tree

train = pd.read_csv("train.csv"); test = pd.read_csv("test.csv")
for frame in (train, test): frame["plan"] = frame["plan"].map({"a": 0, "b": 1, "c": 2})
columns = [column for column in test.columns if column != "id"]
total = np.zeros(len(test))
for fold, (fit, check) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(train, train.target)):
    model = Tree(max_depth=3, random_state=fold)
    model.fit(train.iloc[fit][columns], train.iloc[fit].target)
    hit = (model.predict(train.iloc[check][columns]) == train.iloc[check].target).mean()
    total += model.predict_proba(test[columns])[:, 1] / 3
    print(f"fold {fold}: {hit:.3f}")
np.savetxt("submission.csv", np.c_[test.id, total], delimiter=",", header="id,target", comments="", fmt=["%d", "%.5f"])
