#!/usr/bin/env python3
"""Compares what the simulator says of policies with what they take in real time, on the same seeds.

For each scenario: the time of every policy (interquartile mean over the seeds) as a ratio to the first policy's, simulated
and real; the rank correlation (Spearman) of the two over the policies; and the median, over all policies but the first and
all scenarios, of how far the simulated ratio is from the real one. Exit status 1 if a correlation is below 0.9 or the median
above 25 %.

    sim_to_real.py LAB [--scenarios shared4,paper] [--policies A,B,...] [--seeds N] [--time-scale S] [--out DIR]
                       [--set KEY=VALUE]... [--simulated-set KEY=VALUE]...

--simulated-set changes the simulated scenario alone: a parameter that was measured on the host. CSVs of all runs go to DIR;
those that are there are not run again.
"""
import argparse
import csv
import pathlib
import statistics
import subprocess
import sys

POLICIES = "bsp:sum,asp,ssp:1,ssp:3,knee,cap:4:fastest"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lab", type=pathlib.Path)
    parser.add_argument("--scenarios", default="shared4,paper")
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--time-scale", default="0.02")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/sim_to_real"))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--simulated-set", action="append", default=[])
    return parser.parse_args()


def runs(asked, scenario, real):
    """Times by policy, in the order of the seeds."""
    file = asked.out / f"{scenario}-{'real' if real else 'simulated'}.csv"
    if not file.exists():
        settings = asked.set + ([] if real else asked.simulated_set)
        command = [asked.lab, "compare", "--scenario", scenario, "--policies", asked.policies, "--seeds", str(asked.seeds),
                   "--csv", file, "--no-cache", "--quiet", *(part for s in settings for part in ("--set", s))]
        if real:
            command += ["--host", "threads", "--time-scale", asked.time_scale]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    times = {}
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            times.setdefault(row["policy"], []).append(float(row["time"]))
    return times


def interquartile_mean(values):
    """As the lab has it: of the values from the first to the third quartile, those at the edges in part."""
    ordered, n = sorted(values), len(values)
    cut = n / 4
    weights = [max(0.0, min(i + 1, n - cut) - max(i, cut)) for i in range(n)]
    return sum(w * v for w, v in zip(weights, ordered)) / sum(weights)


def ranks(values):
    """From 1; those that are equal share the mean of their places."""
    return [sum(o < v for o in values) + (sum(o == v for o in values) + 1) / 2 for v in values]


def correlation(left, right):
    """Spearman's: Pearson's of the ranks."""
    a, b = ranks(left), ranks(right)
    ma, mb = statistics.fmean(a), statistics.fmean(b)
    over = sum((x - ma) * (y - mb) for x, y in zip(a, b))
    return over / (sum((x - ma) ** 2 for x in a) * sum((y - mb) ** 2 for y in b)) ** 0.5


def main():
    asked = arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    errors, well = [], True
    for scenario in asked.scenarios.split(","):
        simulated, real = runs(asked, scenario, False), runs(asked, scenario, True)
        policies = list(real)
        times = [{p: interquartile_mean(of[p]) for p in policies} for of in (simulated, real)]
        ratios = [{p: of[p] / of[policies[0]] for p in policies} for of in times]
        print(f"{scenario}, {asked.seeds} seeds, {asked.time_scale} s a unit\n")
        print(f"| policy | simulated | real | simulated / {policies[0]} | real / {policies[0]} | simulated over real |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for p in policies:
            apart = ratios[0][p] / ratios[1][p] - 1
            if p != policies[0]:
                errors.append(abs(apart))
            print(f"| {p} | {times[0][p]:.1f} | {times[1][p]:.1f} | {ratios[0][p]:.2f} | {ratios[1][p]:.2f} | {apart:+.0%} |")
        rank = correlation(*([of[p] for p in policies] for of in ratios))
        well &= rank >= 0.9
        print(f"\nRank correlation {rank:.2f}.\n")
    median = statistics.median(errors)
    well &= median <= 0.25
    print(f"Median error of the ratios {median:.0%}, the largest {max(errors):.0%}.")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
