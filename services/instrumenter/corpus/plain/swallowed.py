# markers: imported defined_model trained_model predicted
# reached: imported defined_model
import sys


class Model:
    def fit(self, x, y):
        raise RuntimeError("can't fit")

    def predict(self, x):
        raise RuntimeError("can't predict")


model = Model()
try:
    model.fit([1], [2])
except Exception as error:
    print("swallowed", error)
try:
    print(model.predict([1]))
except RuntimeError:
    pass
if False:
    model.fit([1], [2])
print("end", file=sys.stderr)
