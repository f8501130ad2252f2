# markers: imported loaded_data defined_model trained_model predicted wrote_submission
import pandas as pd
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("train.csv")
test = pd.read_csv("test.csv")
numeric = train.select_dtypes("number").columns.drop(["id", "target"])
search = GridSearchCV(
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    {"kneighborsclassifier__n_neighbors": [3, 5]},
    cv=3,
)
print(cross_val_score(KNeighborsClassifier(), train[numeric], train.target, cv=3).round(3))
best = search.fit(train[numeric], train.target).best_estimator_
print(search.best_params_)
test.assign(target=best.predict(test[numeric]))[["id", "target"]].to_csv(path_or_buf="submission.csv", index=False)
