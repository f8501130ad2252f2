# markers: imported defined_model trained_model predicted
from typing import Any, Optional


class Model:
    def fit(self, x: list, y: Optional[list] = None) -> "Model": return self
    def predict(self, x) -> int: return len(x)


model: Model = Model()
fitted: Any = (model
               .fit([1], y=[2]))
total = 0
total += model.predict([1, 2])
if (count := model.predict([3])) > 0:
    print(count)
first, *rest = [model.predict([0] * n) for n in range(3)]
assert model.predict([]) == 0, "empty"
del first
print(total, rest, fitted is model)
