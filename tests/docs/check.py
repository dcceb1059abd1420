#!/usr/bin/env python3
"""Checks that the documentation tells the truth about the tree.

- Links of README, CONTRIBUTING, CHANGELOG and docs/ lead to files.
- The first C++ block of the README is examples/00_straggler.cpp.
- Every test that a docstring names ("Tests   path: Name, Name") exists in the file that it names.

usage: check.py [ROOT]      exit status 1 and one line per finding if something is wrong.
"""
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
TESTS = re.compile(r"^\s*/// Tests  +(.*(?:\n\s*///         +.*)*)", re.MULTILINE)
TEST_FILE = re.compile(r"(tests/[\w./]+)(?::\s*([^;/]*))?")
TEST_NAME = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)|\bTYPED_TEST\(\s*(\w+)\s*,\s*(\w+)\s*\)")


def check_links(root):
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted((root / "docs").glob("*.md"))
    for page in pages:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if not target.startswith(("http://", "https://")) and not (page.parent / target).exists():
                yield f"{page.relative_to(root)}: the link {target} leads nowhere"


def check_first_example(root):
    readme = (root / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```cpp\n(.*?)```", readme, re.DOTALL)
    if not block or block[1] != (root / "examples/00_straggler.cpp").read_text(encoding="utf-8"):
        yield "README.md: its first C++ block is not examples/00_straggler.cpp"


def check_named_tests(root):
    for header in sorted((root / "include").rglob("*.hpp")):
        where = header.relative_to(root)
        for match in TESTS.findall(header.read_text(encoding="utf-8")):
            text = re.sub(r"\s*\n\s*///\s*", " ", match)
            files = TEST_FILE.findall(text)
            if not files:
                yield f"{where}: 'Tests {text}' names no file"
            for name, tests in files:
                path = root / name
                if not path.exists():
                    yield f"{where}: names {name}, which does not exist"
                elif path.is_file():
                    found = {word for names in TEST_NAME.findall(path.read_text(encoding="utf-8")) for word in names}
                    for test in re.findall(r"\b[A-Z]\w+", tests or ""):
                        if test not in found:
                            yield f"{where}: {name} has no test {test}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    findings = [*check_links(root), *check_first_example(root), *check_named_tests(root)]
    for line in findings:
        print(f"error: {line}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
