#!/usr/bin/env python3
"""Counts the instructions of one decision, one DQN update and one simulated push, by callgrind, and compares them with
those in counts.txt: more than 3 % more is an error.

The latest line of counts.txt for a compiler (name and major version), a set of kernels and an operation is what counts.
A line that raises a count says why. What has no line is NOT RECORDED, which is no error: other compilers come and go.
What has fallen by more than 3 % asks to be recorded, so that it cannot rise again unseen; that is no error either.
Valgrind has no AVX-512: kernels are those that a processor without it would take.

usage: check.py [--program PATH] [--compiler CXX] [--record [REASON]]
    --record    appends a dated line for what has no line or has moved by more than 3 %; REASON, if anything has risen
Exit: 0 fine, 1 not, 77 nothing to count with.
"""
import argparse
import datetime
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "counts.txt"
TOLERANCE = 0.03
# Few enough for a few seconds each, as many as it takes for what happens now and then.
TIMES = {"decision": (200, 1200), "update": (2, 12), "push": (500, 2500)}
LINE = re.compile(r"(\d{4}-\d\d-\d\d) +(\S+-\d+) +(\S+) +(\w+) +(\d+)(?: +(.*\S))?")


def parse(text):
    """The latest (count, date) of each (compiler, kernels, operation), and what is wrong with the lines."""
    latest, wrong = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if not match:
            wrong.append(f"counts.txt:{number}: expected DATE COMPILER KERNELS OPERATION COUNT [REASON]")
            continue
        date, *key, count, reason = match.groups()
        before = latest.get(tuple(key))
        if before and date < before[1]:
            wrong.append(f"counts.txt:{number}: older than the line before it")
        if before and int(count) > before[0] * (1 + TOLERANCE) and len((reason or "").split()) < 3:
            wrong.append(f"counts.txt:{number}: raises {' '.join(key)} from {before[0]} without a reason")
        latest[tuple(key)] = (int(count), date)
    return latest, wrong


def judge(measured, latest):
    """Of each key: 'same', 'more', 'less' or 'new'."""
    verdicts = {}
    for key, count in measured.items():
        if key not in latest:
            verdicts[key] = "new"
            continue
        ratio = count / latest[key][0]
        verdicts[key] = "more" if ratio > 1 + TOLERANCE else "less" if ratio < 1 - TOLERANCE else "same"
    return verdicts


def compiler_name(compiler):
    """Such as gcc-12."""
    said = subprocess.run([compiler, "--version"], check=True, text=True, capture_output=True).stdout
    version = subprocess.run([compiler, "-dumpversion"], check=True, text=True, capture_output=True).stdout
    return f"{'clang' if 'clang' in said else 'gcc'}-{version.split('.')[0].strip()}"


def under_valgrind(program, *arguments):
    """What it prints, and how many instructions it took."""
    made = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments],
                          text=True, capture_output=True, check=False)
    count = re.search(r"Collected : (\d+)", made.stderr)
    if made.returncode != 0 or not count:
        sys.exit(f"check.py: valgrind {program} {' '.join(arguments)}: {made.stderr.strip()[-500:]}")
    return made.stdout, int(count[1])


def measure(program, compiler):
    measured = {}
    listed, _ = under_valgrind(program)
    for line in listed.splitlines():
        operation, kernels = line.split()
        few, many = TIMES[operation]
        first = under_valgrind(program, operation, kernels, str(few))[1]
        second = under_valgrind(program, operation, kernels, str(many))[1]
        measured[compiler, kernels, operation] = round((second - first) / (many - few))
    return measured


def main():
    parser = argparse.ArgumentParser(description="Counts instructions.")
    parser.add_argument("--program", default=str(HERE.parents[1] / "build/release/bin/counts"))
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--record", nargs="?", const="", metavar="REASON")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("no valgrind (Debian: valgrind): nothing is counted")
        return 77
    text = RECORDED.read_text(encoding="utf-8")
    latest, wrong = parse(text)
    measured = measure(options.program, compiler_name(options.compiler))
    verdicts = judge(measured, latest)
    for key, count in measured.items():
        was = f", {count / latest[key][0] - 1:+.1%} of {latest[key][0]} on {latest[key][1]}" if key in latest else ""
        says = {"same": "", "more": "  ERROR: more instructions", "less": "  RECORD IT: fewer instructions",
                "new": "  NOT RECORDED"}[verdicts[key]]
        print(f"{key[0]:<9} {key[1]:<9} {key[2]:<9} {count:>9}{was}{says}")
    if options.record is not None:
        moved = {key: count for key, count in measured.items() if verdicts[key] != "same"}
        if "more" in verdicts.values() and len(options.record.split()) < 3:
            print("error: some have risen: --record needs a reason, of three words at least")
            return 1
        with RECORDED.open("a", encoding="utf-8") as file:
            for (compiler, kernels, operation), count in moved.items():
                file.write(f"{datetime.date.today()} {compiler} {kernels} {operation} {count} {options.record}".rstrip() + "\n")
        print(f"{len(moved)} lines added to {RECORDED.name}")
        return 0
    for line in wrong:
        print(f"error: {line}")
    if "more" in verdicts.values():
        print('error: if it has to be, record it: tests/counts/check.py --record "why it has to be more"')
    return 1 if wrong or "more" in verdicts.values() else 0


if __name__ == "__main__":
    sys.exit(main())
