# markers: imported defined_model trained_model predicted
# reached: imported defined_model trained_model
import sys


class Model:
    def fit(self, x, y):
        return self

    def predict(self, x):
        return x[5]


model = Model()
model.fit([1], [2])
print("before", file=sys.stderr)
guess = model.predict(
    [1],
)
print("never")
