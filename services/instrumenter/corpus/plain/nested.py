# markers: imported defined_model trained_model predicted
import asyncio
import contextlib
import functools


def traced(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        print("call", function.__name__)
        return function(*args, **kwargs)

    return inner


class Model:
    count = 0

    @traced
    def fit(self, x, y):
        Model.count += 1
        return self

    @staticmethod
    def predict(x):
        return x

    class Inner:
        def run(self):
            model = Model()

            def deep():
                nonlocal model
                try:
                    model.fit([1], [2])
                except (ValueError, KeyError) as error:
                    print("no", error)
                else:
                    guess = model.predict([3])
                    print("else", guess)
                finally:
                    print("finally")
                    # a last comment, deeper than what follows
                return model

            return deep()


@contextlib.contextmanager
def section(name):
    print("in", name)
    yield name
    print("out", name)


async def job(model):
    await asyncio.sleep(0)
    async with contextlib.AsyncExitStack() as stack:
        guess = model.predict([4])
        print(guess, stack is not None)
    async for value in ticks():
        model.fit([value], [value])


async def ticks():
    for tick in range(2):
        yield tick


model = Model.Inner().run()
with section("outer"), section("inner") as name:
    if name == "inner":
        while True:
            model.fit([1], [2])
            break
        else:
            print("never")
    elif name:
        print("never")
    else:
        print("never")
match {"kind": "job", "n": [1, 2]}:
    case {"kind": "job", "n": [first, *rest]} if first:
        asyncio.run(job(model))
        print(first, rest)
    case _:
        model.fit([0], [0])
print(Model.count)
