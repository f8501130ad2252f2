# markers: imported loaded_data defined_model trained_model predicted wrote_submission
"""Everything in functions, with the steps in their returns."""
import csv


class Mean:
    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def fit(self, x, y):
        self.mean = sum(y) / len(y)
        return self

    def predict(self, x):
        return [self.mean ** self.power for _ in x]


def read(name):
    with open(name, newline="") as file:
        return list(csv.DictReader(file))


def load():
    return read("train.csv"), read("test.csv")


def build(*args, **kwargs):
    return Mean(*args, **kwargs)


def train(rows, model):
    return model.fit(rows, [float(row["target"]) for row in rows])


def guess(model, rows):
    return model.predict(rows)


def main() -> int:
    train_rows, test_rows = load()
    model = build(power=1.0)
    fitted = train(train_rows, model)
    out = guess(fitted, test_rows)
    with open("submission.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "target"])
        for row, value in zip(test_rows, out):
            writer.writerow([row["id"], f"{value:.4f}"])
        # the end
    print(len(out), "rows")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
