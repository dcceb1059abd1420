#!/usr/bin/env python3
"""Compares what the simulator says of policies with what they take in real time, on the same seeds.

For each scenario: the time of every policy (the lab's interquartile mean over the seeds) as a ratio to the first policy's, simulated
and real, and the rank correlation (Spearman) of the two over the policies. Then, over the ratios of all scenarios, those of
the first policy left out: their rank correlation, and the median of how far the simulated one is from the real one. Exit
status 1 if that correlation is below 0.9 or the median above 25 %.

    sim_to_real.py LAB [--host threads|gloo] [--scenarios shared4,paper] [--policies A,B,...] [--seeds N]
                       [--time-scale S] [--out DIR] [--set KEY=VALUE]... [--simulated-set KEY=VALUE]...

--simulated-set changes the simulated scenario alone: a parameter that was measured on the host. The lab's JSON goes to DIR;
what is there is not run again.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

POLICIES = "bsp:sum,asp,ssp:1,ssp:3,knee,cap:4:fastest"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lab", type=pathlib.Path)
    parser.add_argument("--host", choices=("threads", "gloo"), default="threads")
    parser.add_argument("--scenarios", default="shared4,paper")
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--time-scale", default="0.02")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/sim_to_real"))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--simulated-set", action="append", default=[])
    return parser.parse_args()


def times_of(asked, scenario, real):
    """Time by policy."""
    file = asked.out / f"{scenario}-{asked.host if real else 'simulated'}.json"
    if not file.exists():
        settings = asked.set + ([] if real else asked.simulated_set)
        command = [asked.lab, "compare", "--scenario", scenario, "--policies", asked.policies, "--seeds", str(asked.seeds),
                   "--json", file, "--no-cache", "--quiet", *(part for s in settings for part in ("--set", s))]
        if real:
            command += ["--host", asked.host, "--time-scale", asked.time_scale]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {row["policy"]: row["time_iqm"] for row in json.loads(file.read_text(encoding="utf-8"))["rows"]}


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
    simulated, real = [], []  # ratios of all scenarios
    for scenario in asked.scenarios.split(","):
        times = [times_of(asked, scenario, False), times_of(asked, scenario, True)]
        policies = list(times[1])
        ratios = [{p: of[p] / of[policies[0]] for p in policies} for of in times]
        print(f"{scenario}, {asked.seeds} seeds, {asked.host}, {asked.time_scale} s a unit\n")
        print(f"| policy | simulated | real | simulated / {policies[0]} | real / {policies[0]} | simulated over real |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for p in policies:
            apart = ratios[0][p] / ratios[1][p] - 1
            if p != policies[0]:
                simulated.append(ratios[0][p])
                real.append(ratios[1][p])
            print(f"| {p} | {times[0][p]:.1f} | {times[1][p]:.1f} | {ratios[0][p]:.2f} | {ratios[1][p]:.2f} | {apart:+.0%} |")
        print(f"\nRank correlation {correlation(*([of[p] for p in policies] for of in ratios)):.2f}.\n")
    rank = correlation(simulated, real)
    errors = [abs(s / r - 1) for s, r in zip(simulated, real)]
    median = statistics.median(errors)
    print(f"All {len(errors)} ratios: rank correlation {rank:.2f}, median error {median:.0%}, the largest {max(errors):.0%}.")
    return 0 if rank >= 0.9 and median <= 0.25 else 1


if __name__ == "__main__":
    sys.exit(main())
