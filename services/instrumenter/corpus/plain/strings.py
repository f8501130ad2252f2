# markers: imported defined_model trained_model predicted
import textwrap

class Model:
    """fit and predict.

    model.fit(X, y)
    """

    def fit(self, x, y):
        self.text = """
import pandas as pd
df = pd.read_csv('train.csv')
    df.to_csv("submission.csv")
"""; self.other = 'it''s' "one"
        return self

    def predict(self, x):
        return f"""{x!r:>10} {'nested "quotes"'} {{braces}} {len(self.text)
            + 1}"""


model = \
    Model()
model.fit(
    [1, 2],  # a comment with ) and "
    """y
    over lines""",
)
out = model.predict("a" \
                    "b"); print(out)
print(textwrap.dedent('''\
    # not a comment
    model.predict(1)
''') + r"\n" + b"\x41".decode())
"""a string statement
over two lines"""
guess = model.predict('''
''')
print(guess)
