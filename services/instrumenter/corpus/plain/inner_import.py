# markers: imported defined_model trained_model
def main():
    import json
    import re

    class Model:
        def fit(self, x, y): return re.sub("a", "b", x)

    model = Model()
    print(json.dumps(model.fit("abc", None)))


main()
