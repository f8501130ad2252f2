# markers: imported defined_model trained_model
import os
import sys
class Model:
    def fit(self, x, y): return self
model = Model()
model.fit([1], [2])
import json
print(json.dumps([os.sep, sys.byteorder != ""]))
