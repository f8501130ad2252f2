# markers:
import builtins

seen = []
real = builtins.print
builtins.print = lambda *values, **options: seen.append(values) or real("patched", *values)
print("one")
real(len(seen))
