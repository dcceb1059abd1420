#!/usr/bin/env python3
"""Compiles one case that must be refused, and compares the first error with what the case promises.

usage: check.py CASE.cpp COMPILER [FLAG...]

The first line of the case is `// expect: REGEX`, matched against the compiler's first error, or `// expect success` for
the control that shows that includes and flags are right. A second line `// names: CONCEPT`: the first error names the
concept that is not satisfied, itself (g++) or in the note that belongs to it (clang). A line `// flags: FLAG...` after
these: compiled with those as well.
"""
import re
import subprocess
import sys


def main():
    case, command = sys.argv[1], sys.argv[2:]
    with open(case, encoding="utf-8") as file:
        text = file.read()
    first_line = text.split("\n", 1)[0]
    concept = re.match(r".*\n// names: (\w+)\n", text)
    flags = re.search(r"^// flags: (.+)", text, re.MULTILINE)
    own = flags[1].split() if flags else []
    run = subprocess.run([*command, "-std=c++20", *own, "-fsyntax-only", "-fno-diagnostics-color", case],
                         capture_output=True, text=True, env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"})
    if first_line == "// expect success":
        print(run.stderr, end="")
        return run.returncode
    expected = re.fullmatch(r"// expect: (.+)", first_line)
    if not expected:
        print(f"{case}:1: expected '// expect: REGEX' or '// expect success', found '{first_line}'")
        return 1
    errors = re.findall(r"^.*error: (.*)$", run.stderr, re.MULTILINE)
    if run.returncode == 0 or not errors:
        print(f"{case}: compiled, expected an error that matches '{expected[1]}'")
        return 1
    if not re.search(expected[1], errors[0]):
        print(f"{case}: first error does not match '{expected[1]}':\n{run.stderr}")
        return 1
    said = [line for line in run.stderr.splitlines() if re.search(r"\b(error|note): ", line)]
    first = next(i for i, line in enumerate(said) if "error: " in line)
    if concept and not re.search(rf"\b{concept[1]}\b", " ".join(said[first:first + 2])):
        print(f"{case}: the first error does not name {concept[1]}:\n{run.stderr}")
        return 1
    print(errors[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
