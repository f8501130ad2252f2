# markers: imported defined_model trained_model predicted
import sys

class Model:
	def fit(self, x, y):
		if x:
			self.x = x
		return self

	def predict(self, x):
		return [len(self.x)] * len(x)

def run():
	model = Model()
	for step in range(2):
		model.fit([step + 1], [0])
		if step:
			out = model.predict([1, 2])
	return out

print(run(), sys.version_info[0])
