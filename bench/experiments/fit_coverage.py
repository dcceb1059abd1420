#!/usr/bin/env python3
"""Do the 90 % intervals of `rubato-lab fit` hold what is true? Tries it on simulated logs of clusters that are known.

For each kind of stragglers and each length, so many logs of ten workers under ssp:3, each on another seed. Prints how often
the interval of a value held the true one, how often the kind of stragglers was found, and, of the logs whose report was sure
of a kind (nine tenths of the resamples or more), how many had another one. A kind that was missed has no interval for its
values: these are counted where it was found.

usage: fit_coverage.py LAB LOGS STEPS[,STEPS...]
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

SLEEPS = {"sleep, mean": 2, "sleep, deviation": 0.6}
# settings, true values; times in units of the step
CLUSTERS = {
    "none": ({"cluster.cores": 0}, {}),
    "static": ({"cluster.cores": 4, "stragglers.count": 3, "stragglers.mean": 2, "stragglers.sd": 0.6}, SLEEPS),
    "transient": ({"cluster.cores": 0, "stragglers.probability": 0.2, "stragglers.mean": 2, "stragglers.sd": 0.6},
                  SLEEPS | {"steps that straggle": 0.2}),
    "burst": ({"cluster.cores": 0, "stragglers.count": 5, "stragglers.mean": 2, "stragglers.sd": 0.6},
              SLEEPS | {"burst, mean length": 10, "burst, mean gap": 30}),
    "heavy_tailed": ({"cluster.cores": 0, "stragglers.probability": 0.2, "stragglers.mean": 2},
                     {"sleep, mean": 2, "steps that straggle": 0.2, "tail index": 1.5}),
}
COMMON = {"step time, mean": 1, "jitter": 0.05}
NUMBER = r"[-+\d.e]+"
OF_UNIT = ("sleep", "burst")  # in units of the fit; the others are not times, or in the log's


def lab(program, *arguments, folder):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def report(program, kind, steps, seed):
    settings = CLUSTERS[kind][0] | {"workers": 10, "stragglers.kind": kind, "objective.kind": "quadratic", "stop": "workload",
                                    "objective.workload": 16 * steps}
    with tempfile.TemporaryDirectory() as folder:
        lab(program, "compare", "--scenario", "shared4", *(f"--set={key}={value}" for key, value in settings.items()),
            "--policies", "ssp:3", "--seeds", "1", "--seed", str(1000 + seed), "--log", "run.jsonl", "--no-cache", "--quiet",
            "--threads", "1", folder=folder)
        return lab(program, "fit", "run.jsonl", "--out", "fitted.json", "--seed", str(seed), folder=folder)


def intervals(text):
    """Name to value, low, high."""
    found = {}
    for line in text.splitlines():
        match = re.match(rf"(\S.*?)\s\s+({NUMBER})\s+\[({NUMBER}), ({NUMBER})\]", line)
        if match:
            found[match[1]] = tuple(map(float, match.groups()[1:]))
    return found


def kind_of(text):
    match = re.search(r"^stragglers\s+(\w+)\s+(\d+) %", text, re.MULTILINE)
    return match[1], int(match[2])


def main(program, logs, lengths):
    program = str(pathlib.Path(program).resolve())
    print("| stragglers | steps | kind found | sure of a kind | and wrong | 90 % intervals that hold the true value |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, (_, true) in CLUSTERS.items():
        for steps in lengths:
            held, seen = collections.Counter(), collections.Counter()
            found = sure = wrong = 0
            for seed in range(1, logs + 1):
                text = report(program, kind, steps, seed)
                name, share = kind_of(text)
                found += name == kind
                sure += share >= 90
                wrong += share >= 90 and name != kind
                given = intervals(text)
                unit = given["step time, mean"][0]
                for value, truth in (true | COMMON).items():
                    if value not in given or (value not in COMMON and name != kind):
                        continue
                    scale = unit if value.startswith(OF_UNIT) else 1
                    seen[value] += 1
                    # printed with three digits
                    held[value] += given[value][1] * scale * 0.9995 <= truth <= given[value][2] * scale * 1.0005
            cells = ", ".join(f"{value} {100 * held[value] / seen[value]:.0f} %" for value in COMMON | true if seen[value])
            print(f"| {kind} | {steps} | {found} of {logs} | {sure} | {wrong} | {cells} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), [int(each) for each in sys.argv[3].split(",")])
