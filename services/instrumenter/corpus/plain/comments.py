# markers: imported defined_model trained_model predicted


import os  # the only import


class Model:
    def fit(self, x, y): return self  # noqa
    def predict(self, x):
        return x
        # after a return


model = Model()  # model.fit(X, y)
# model.predict(X)
if os.sep:
    model.fit([1], [2])  ;
        # deeper than the body
    # as deep

# back

else_ = model.predict([1]) ;  # trailing semicolon and comment
print(else_)
  # an odd indent
print("end")  # no newline after this