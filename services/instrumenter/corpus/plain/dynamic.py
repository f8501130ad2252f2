# markers: imported
import builtins

exec("value = 6 * 7\nprint(value)")
print(eval("value + 1"), sorted(name for name in dir() if not name.startswith("_")))
print(getattr(builtins, "print") is print)
