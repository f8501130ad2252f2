# markers: imported loaded_data defined_model trained_model predicted wrote_submission
import pandas as pd
from sklearn import ensemble
from sklearn.model_selection import train_test_split
from sklearn.metrics import roc_auc_score

PATH = "submission.csv"


def load():
    return pd.read_csv("train.csv"), pd.read_csv("test.csv")


def encode(frame, columns=None):
    frame = pd.get_dummies(frame.drop(columns=["id", "target"], errors="ignore"))
    return frame if columns is None else frame.reindex(columns=columns, fill_value=0)


class Learner:
    def __init__(self):
        self.model = ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0)

    def learn(self, X, y):
        self.model.fit(X, y)
        return self

    def score(self, X):
        return self.model.predict_proba(X)[:, 1]


def main():
    train, test = load()
    X, y = encode(train), train["target"]
    X_fit, X_check, y_fit, y_check = train_test_split(X, y, random_state=0, stratify=y)
    learner = Learner().learn(X_fit, y_fit)
    print("auc", round(roc_auc_score(y_check, learner.score(X_check)), 4))
    out = pd.DataFrame({"id": test.id, "target": learner.score(encode(test, X.columns))})
    out.to_csv(PATH, index=False)


if __name__ == "__main__":
    main()
