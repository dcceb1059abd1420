#!/usr/bin/env python3
"""A controller that nobody watches pays nothing for observers: its pushes take as many instructions, by callgrind, as
those of a controller whose headers have no call of an observer at all. And the measure is no dead one: with a flight
recorder they take more.

usage: unwatched.py COMPILER [FLAG ...]
Exit: 0 fine, 1 not, 77 nothing to count with.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEW, MANY = 500, 2500
# What a compiler may lay out otherwise in a text that differs: less than one instruction of a call that is left.
TOLERANCE = 0.002
CALL = re.compile(r"(?:this->)?\b(?:note|note_commit)\(")


def statement_end(text, at):
    """Behind the parenthesis that closes the one that ends at `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def without_calls(text):
    """The text with each call of note() and note_commit() replaced by nothing; their definitions stay."""
    pieces, at, calls = [], 0, 0
    for match in CALL.finditer(text):
        if match.start() < at or text[:match.start()].rstrip().endswith("void"):
            continue
        end = statement_end(text, match.end())
        pieces += [text[at:match.start()], "static_cast<void>(0)"]
        at, calls = end, calls + 1
    return "".join(pieces) + text[at:], calls


def build(compiler, flags, include, program):
    subprocess.run([compiler, "-std=c++20", "-O2", "-DNDEBUG", *flags, f"-I{include}",
                    str(ROOT / "tests/counts/unwatched.cpp"), "-o", str(program)], check=True)


def a_push(program, rule, watcher):
    few, many = (check.under_valgrind(str(program), rule, watcher, str(n))[1] for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def main():
    compiler, *flags = sys.argv[1:]
    if not shutil.which("valgrind"):
        print("no valgrind (Debian: valgrind): nothing is counted")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        blind = pathlib.Path(folder) / "include"
        shutil.copytree(ROOT / "include", blind)
        calls = 0
        for header in sorted((blind / "rubato/sync").glob("*.hpp")):
            text, found = without_calls(header.read_text(encoding="utf-8"))
            header.write_text(text, encoding="utf-8")
            calls += found
        if calls < 15:
            sys.exit(f"unwatched.py: found {calls} calls of observers to take out, expected at least 15")
        programs = {"as it is": pathlib.Path(folder) / "seeing", "without observers": pathlib.Path(folder) / "blind"}
        build(compiler, flags, ROOT / "include", programs["as it is"])
        build(compiler, ["-w", *flags], blind, programs["without observers"])
        wrong = 0
        for rule in ("asp", "ssp", "bsp"):
            seeing, none = (a_push(program, rule, "none") for program in programs.values())
            recorded = a_push(programs["as it is"], rule, "recorder")
            print(f"{rule}: {none:.1f} instructions a push without observers, {seeing:.1f} with none, "
                  f"{recorded:.1f} with a flight recorder")
            if seeing > none * (1 + TOLERANCE):
                print(f"error: {rule}: found {seeing:.1f} instructions a push, expected the {none:.1f} without observers")
                wrong = 1
            if recorded <= seeing:
                print(f"error: {rule}: a flight recorder takes no instruction: nothing is measured")
                wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
