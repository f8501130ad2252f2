# markers:
import sys

lines = []


def print(*values, **options):
    lines.append(values)


print("kept")
print("kept too")
sys.stdout.write(repr(lines) + "\n")
