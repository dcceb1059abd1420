#!/usr/bin/env python3
"""What it costs to include rubato, over what the headers cost that it includes itself: those of the standard library and
of intrinsics, which anybody who does the same includes, too. Each is compiled alone in turns, without code generation,
and the least processor time of each counts. Writes the JSON that table.py reads.

    compile_time.py [--repetitions N] [--out FILE]
"""
import argparse
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include"
UMBRELLAS = ("rubato/sync.hpp", "rubato/rubato.hpp")
ANGLED = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)
QUOTED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def reached(header, seen=None):
    """The library's own headers that this one includes, itself among them."""
    seen = {} if seen is None else seen
    header = header.resolve()
    if header in seen:
        return seen
    seen[header] = header.read_text(encoding="utf-8")
    for name in QUOTED.findall(seen[header]):
        reached(header.parent / name, seen)
    for name in ANGLED.findall(seen[header]):
        if name.startswith("rubato/"):
            reached(INCLUDE / name, seen)
    return seen


def foreign(header):
    """Headers of others that they include, sorted."""
    return sorted({name for text in reached(header).values() for name in ANGLED.findall(text)
                   if not name.startswith("rubato/")})


def available(compiler, headers, folder):
    """Those that this compiler has here: some are for other systems."""
    def has(name):
        probe = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"], text=True, cwd=folder,
                               input=f"#include <{name}>\n", capture_output=True, check=False)
        return probe.returncode == 0
    return [name for name in headers if has(name)]


def seconds(compiler, source, folder):
    """Of the processor, for the user and for the system: unlike time on the clock it hardly depends on who else runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([compiler, "-std=c++20", "-O2", "-fsyntax-only", f"-I{INCLUDE}", source], check=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description="What including rubato costs.")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    entries = []
    with tempfile.TemporaryDirectory() as folder:
        for compiler in filter(shutil.which, ("g++", "clang++")):
            for umbrella in UMBRELLAS:
                if not (INCLUDE / umbrella).exists():
                    sys.exit(f"compile_time.py: no {umbrella}")
                own = pathlib.Path(folder, "own.cpp")
                floor = pathlib.Path(folder, "floor.cpp")
                own.write_text(f"#include <{umbrella}>\n", encoding="utf-8")
                headers = available(compiler, foreign(INCLUDE / umbrella), folder)
                floor.write_text("".join(f"#include <{h}>\n" for h in headers), encoding="utf-8")
                for repetition in range(options.repetitions):
                    taken = {"floor": [], "own": []}
                    for _ in range(3):
                        taken["floor"].append(seconds(compiler, floor, folder))
                        taken["own"].append(seconds(compiler, own, folder))
                    low, ours = min(taken["floor"]) * 1e9, min(taken["own"]) * 1e9
                    entries.append({"name": f"{pathlib.Path(umbrella).name}/{compiler}", "run_type": "iteration",
                                    "repetition_index": repetition, "min": ours, "floor": low, "ratio": ours / low})
    text = json.dumps({"context": {}, "benchmarks": entries}, indent=1)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
