#!/usr/bin/env python3
"""Writes the library as one header, by following the includes of its umbrellas.

usage: single_header.py OUT [UMBRELLA...]     OUT: the file to write, say rubato_single.hpp
                                              UMBRELLA: below include/rubato; without one UMBRELLAS
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ROOT / "include" / "rubato"
UMBRELLAS = ["rubato.hpp", "rivals.hpp"]
OURS = re.compile(r'^#include "([^"]+)"\s*(?://.*)?$')
STANDARD = re.compile(r"^#include <[^>]+>$")
NOT_INLINED = re.compile(r'^\s*#\s*include\s*".*', re.MULTILINE)
GUARD = re.compile(r"^#ifndef RUBATO_\w+_HPP$", re.MULTILINE)
CONDITION = re.compile(r"^#\s*(if|ifdef|ifndef|endif)\b")


def inlined(path, seen, always):
    """The lines of a header with those that it includes in their place. One that has a guard is read once; one that has
    none each time, as a compiler does. ALWAYS: no condition stands around it."""
    text = path.read_text(encoding="utf-8")
    if GUARD.search(text):
        if path in seen:
            return
        if not always:
            sys.exit(f"single_header.py: {path.relative_to(ROOT)} is first included under a condition, and missing for who "
                     "includes it next")
        seen.add(path)
    depth = -1 if GUARD.search(text) else 0
    for line in text.splitlines():
        ours, condition = OURS.match(line), CONDITION.match(line)
        if condition:
            depth += -1 if condition[1] == "endif" else 1
        if ours:
            yield from inlined((path.parent / ours[1]).resolve(), seen, always and depth == 0)
        elif STANDARD.match(line) and always and depth == 0:
            if line not in seen:
                seen.add(line)
                yield line
        elif not STANDARD.match(line) or line not in seen:
            yield line


def version(root=ROOT):
    text = (root / "include/rubato/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define RUBATO_VERSION_{part} (\d+)$", text, re.MULTILINE)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def single_header(umbrellas):
    seen = set()
    lines = [f"// rubato {version()} as one header: {', '.join(umbrellas)}, and all that they include.",
             "// Made by packaging/single_header.py.", "// SPDX-License-Identifier: Apache-2.0", "#ifndef RUBATO_SINGLE_HPP",
             "#define RUBATO_SINGLE_HPP", ""]
    for umbrella in umbrellas:
        lines += inlined(HEADERS / umbrella, seen, True)
    text = "\n".join([*lines, "", "#endif", ""])
    if left := NOT_INLINED.search(text):
        sys.exit(f"single_header.py: {left[0].strip()} is still there, expected #include \"FILE\" at the start of a line")
    return text


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    out, *umbrellas = arguments
    missing = [name for name in umbrellas if not (HEADERS / name).is_file()]
    if missing:
        print(f"single_header.py: there is no {', '.join(missing)} in {HEADERS}", file=sys.stderr)
        return 2
    pathlib.Path(out).write_text(single_header(umbrellas or UMBRELLAS), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
