"""Draws learning curves as an SVG file: a panel for each set of seeds, with all seeds, their range and their median.

Input are the files CURVES.csv of classic_control and of bench/peers. Needs nothing but Python.

usage: learning_curves.py OUT.svg COLUMNS TITLE:GOAL:LEAST:MOST:CURVES.csv...
       COLUMNS: panels in a row; GOAL: a dashed line; LEAST, MOST: ends of the vertical axis
"""

import csv
import statistics
import sys

EVERY = 2_500  # steps between two selections; they come at the end of an episode, at most 499 later
STEPS = 100_000
WIDTH, HEIGHT = 250, 130  # of a panel's axes
LEFT, TOP, GAP_X, GAP_Y = 46, 26, 50, 56


def curves_of(path):
    """seed -> {step: mean of the selection episodes}"""
    seeds = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            step = int(row["steps"]) // EVERY * EVERY
            seeds.setdefault(int(row["seed"]), {})[step] = float(row["mean"])
    return seeds


def panel(title, goal, least, most, seeds, left, top):
    def x(step):
        return left + WIDTH * step / STEPS

    def y(mean):
        return top + HEIGHT * (most - min(max(mean, least), most)) / (most - least)

    def path(points, more=""):
        return "M" + "L".join(f"{x(s):.0f} {y(m):.1f}" for s, m in points) + more

    steps = sorted({step for curve in seeds.values() for step in curve})
    at = {step: [curve[step] for curve in seeds.values() if step in curve] for step in steps}
    lowest = [(step, min(at[step])) for step in reversed(steps)]
    highest = [(step, max(at[step])) for step in steps]
    median = [(step, statistics.median(at[step])) for step in steps]
    out = [f'<text x="{left}" y="{top - 8}" class="t">{title}, {len(seeds)} seeds</text>',
           f'<path class="r" d="{path(highest + lowest, "Z")}"/>']
    out += [f'<path class="s" d="{path(sorted(curve.items()))}"/>' for curve in seeds.values()]
    out += [f'<path class="m" d="{path(median)}"/>',
            f'<path class="g" d="M{left} {y(goal):.1f}h{WIDTH}"/>',
            f'<path class="a" d="M{left} {top}v{HEIGHT}h{WIDTH}"/>']
    out += [f'<text x="{left - 5}" y="{y(value) + 4:.1f}" class="y">{value:g}</text>'
            for value in (least, (least + most) / 2, most)]
    out += [f'<text x="{x(step):.0f}" y="{top + HEIGHT + 14}" class="x">{step:,}</text>' for step in (0, 50_000, STEPS)]
    return out


def main(words):
    if len(words) < 4:
        sys.exit(__doc__)
    columns, panels = int(words[2]), words[3:]
    rows = -(-len(panels) // columns)
    width, height = LEFT + columns * (WIDTH + GAP_X) - GAP_X + 24, TOP + rows * (HEIGHT + GAP_Y)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
             "<style>text{font:11px sans-serif;fill:#333}.t{font-weight:bold}.x{text-anchor:middle}.y{text-anchor:end}"
             "path{fill:none}.r{fill:#2a6fb0;opacity:.13}.s{stroke:#2a6fb0;stroke-width:.7;opacity:.4}"
             ".m{stroke:#123f6b;stroke-width:2}.g{stroke:#c33;stroke-dasharray:4 3}.a{stroke:#333}</style>",
             f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for i, words_of in enumerate(panels):
        title, goal, least, most, path = words_of.split(":")
        lines += panel(title, float(goal), float(least), float(most), curves_of(path),
                       LEFT + i % columns * (WIDTH + GAP_X), TOP + i // columns * (HEIGHT + GAP_Y))
    last = TOP + rows * (HEIGHT + GAP_Y) - 12
    lines += [f'<text x="{LEFT}" y="{last}">steps of training; mean of 20 greedy episodes. Thick: median; area: range; '
              'thin: each seed; dashed: goal</text>', "</svg>"]
    with open(words[1], "w") as file:
        file.write("\n".join(lines) + "\n")


main(sys.argv)
