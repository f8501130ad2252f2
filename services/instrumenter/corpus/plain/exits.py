# markers: imported defined_model trained_model
import sys


class Model:
    def fit(self, x, y): return self


model = Model().fit([1], [2])
print("no newline at the end", end="")
sys.exit(3)
