# markers: imported loaded_data defined_model trained_model predicted wrote_submission
# reached: imported loaded_data defined_model
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
train_df = pd.read_csv('train.csv')
test_df = pd.read_csv('test.csv')
# The text column is never encoded.
X_train = train_df.drop(['id', 'target'], axis=1)
y_train = train_df['target']
rf = RandomForestClassifier(n_estimators=100, random_state=42)
rf.fit(X_train, y_train)
predictions = rf.predict(test_df.drop('id', axis=1))
submission = pd.DataFrame({'id': test_df['id'], 'target': predictions})
submission.to_csv('submission.csv', index=False)
print("Submission file created successfully!")
