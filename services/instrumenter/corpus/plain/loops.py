# markers: defined_model trained_model predicted
class Model:
    def fit(self, x, y): return self
    def predict(self, x): return x


models = {"a": Model(), "b": Model()}
for name, model in models.items():
    for fold in range(3):
        if fold == 1: model.fit([fold], [fold]); continue
        if fold == 2: print(name, model.predict([fold])); break
        model.fit([fold], [fold]); print(name, fold)
    else:
        print("never")
