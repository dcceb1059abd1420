#!/usr/bin/env python3
"""The best of each cell of several tables of `scale controller`, for machines that are not idle.

usage: scale_best.py TABLE...
"""
import sys

HIGHER = {"M pushes/s, 1 thread", "2 threads"}
LOWER = {"p50 ns", "p99 ns", "ns each", "resident/worker"}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def better(name, a, b):
    if "-" in (a, b) or name not in HIGHER | LOWER:
        return b if a == "-" else a
    pick = max if name in HIGHER else min
    return pick(a, b, key=lambda text: float(text.replace(",", "")))


def main():
    best, first = {}, None
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        first = first or lines[:2]
        names = cells(first[0])
        for row in map(cells, lines[2:]):
            key = tuple(row[:2])
            old = best.get(key, row)
            best[key] = [better(name, a, b) for name, a, b in zip(names, old, row)]
    if first is None:
        sys.exit(__doc__)
    print("\n".join(first))
    for row in best.values():
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
