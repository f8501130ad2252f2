# markers: imported defined_model trained_model predicted
import random; random.seed(0)
class Model: fit = lambda self, x, y: self; predict = lambda self, x: [1 for _ in x]; best = 3
def make(): return Model()
class Other:
    def fit(self, x, y): return self
    def predict(self, x): return x
model = Model(); other = Other(); fitted = other.fit([1], [2]); print("fitted")
if fitted: other.fit([3], [4]); print("again")
else: other.fit([5], [6])
for row in range(3): guess = other.predict([row]); print(guess)
while True: other.predict([0]); break
try: other.fit([1], [1]); print(other.predict([9]))
except ValueError: pass
finally: print("done");
with open(__file__) as source: other.fit([1], [2]); print(source.closed)
x = 1; y = 2 ; print(x + y)  # a comment; with a semicolon
