#!/usr/bin/env python3
"""How good is the advice of `rubato-lab advise` on logs of real runs? As advise.py, on the threads host.

Takes the clusters random:NUMBER of the lab, in their order, that have no link, 4 to 16 workers, and a simulated run under asp
of at most 250 units of time. A unit lasts 5, 10, 20 or 40 ms: the shortest in which steps of the smallest and of the largest
batches take no more than 3 % longer than asked for; a cluster for which the longest is too short is left out, since this
machine cannot be it. On each cluster a real run under each of three policies leaves a decision log, and each rule is measured
in real time on other seeds, those that are near the quickest on more of them. The advice knows what advise.py lets it know,
and its times are in seconds. Nothing was chosen by looking at these, but that intervals are no longer narrowed by a constant.

usage: advise_on_threads.py run LAB FOLDER CLUSTERS         real runs, on an idle machine; goes on where it was
       advise_on_threads.py advise LAB FOLDER RESULTS.csv   the advice on each log: a row for each log and rule
       advise_on_threads.py table RESULTS.csv               prints the tables of docs/advise.md
"""
import csv
import json
import math
import pathlib
import sys

from advise import (COLUMNS, LOGGED, LOG_SEED, RULES, Judgements, cluster, held_gains, held_runs, lab, mean_time, print_failures,
                    rows_of, rows_to_go_on_with, shares, shown, times_in)

SEEDS = 5
MORE_SEEDS = 20  # of rules within NEAR of the quickest: the logarithm of one run's time has a deviation of about 0.2
NEAR = 1.25
UNITS = [0.005, 0.01, 0.02, 0.04]  # seconds
LONGER = 0.03
LONGEST = 250
LOST = "log did not arrive"


def host(unit):
    return ["--host", "threads", "--time-scale", str(unit), "--no-cache", "--quiet"]


def simulated_time(program, scenario, folder):
    row = json.loads(lab(program, "compare", "--scenario", scenario, "--policies", "asp", "--seeds", "1", "--json", "-", "--no-cache",
                         "--quiet", folder=folder))["rows"][0]
    return row["time_iqm"] if row["reached"] else math.inf


def unit_for(program, folder):
    """Seconds, or None if the longest is too short."""
    for unit in UNITS:
        rows = json.loads(lab(program, "compare", "--scenario", "true.json", "--policies", "asp,distilled", "--seed", str(LOG_SEED + 1),
                              "--seeds", "1", "--json", "-", *host(unit), folder=folder))["rows"]
        if all(max(row["overhead"], row["overrun"]) <= LONGER for row in rows):
            return unit
    return None


def measure(program, number, folder):
    """Leaves true.json, LOG.jsonl for each logged policy, logged.json and two files of runs; a sentence if the cluster is none
    of ours."""
    scenario = cluster(program, number, folder)
    if scenario is None or not 4 <= scenario["workers"] <= 16:
        return "a link, or another number of workers"
    (folder / "true.json").write_text(json.dumps(scenario))
    if simulated_time(program, "true.json", folder) > LONGEST:
        return "too long"
    unit = unit_for(program, folder)
    if unit is None:
        return "too quick for this machine"
    logged = {}
    for policy in LOGGED:
        row = json.loads(lab(program, "compare", "--scenario", "true.json", "--policies", policy, "--seed", str(LOG_SEED), "--seeds",
                             "1", "--log", log_of(policy), "--json", "-", *host(unit), folder=folder))["rows"][0]
        logged[policy] = row["time_iqm"] if row["reached"] else None
    longest = max((time for time in logged.values() if time), default=0)
    if not longest:
        return "no log arrives"

    def runs(rules, first, seeds, file):
        lab(program, "compare", "--scenario", "true.json", "--policies", ",".join(rules), "--seed", str(first), "--seeds", str(seeds),
            "--set", f"objective.max_time={4 * longest}", "--csv", file, *host(unit), folder=folder)

    runs(RULES, 1, SEEDS, "runs.csv")
    times = {rule: mean_time(each) for rule, each in times_in(folder / "runs.csv").items()}
    runs([rule for rule in RULES if times[rule] <= NEAR * min(times.values())], 1 + SEEDS, MORE_SEEDS, "more_runs.csv")
    (folder / "logged.json").write_text(json.dumps({"times": logged, "limit": 4 * longest, "unit": unit}))
    return None


def log_of(policy):
    return policy.replace(":", "-") + ".jsonl"


def run(program, results, wanted):
    program = str(pathlib.Path(program).resolve())
    done = number = 0
    while done < wanted:
        number += 1
        folder = results.resolve() / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "logged.json").exists() and not (folder / "none").exists():
            none = measure(program, number, folder)
            if none:
                (folder / "none").write_text(none)
            print(f"random:{number} {none or 'done'}", file=sys.stderr, flush=True)
        done += (folder / "logged.json").exists()


def advise(program, results, table_file):
    program = str(pathlib.Path(program).resolve())
    known = {(row["number"], row["log_policy"]) for row in rows_to_go_on_with(table_file)}
    with open(table_file, "a", encoding="utf-8", newline="") as file:
        write = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not known and file.tell() == 0:
            write.writeheader()
        for folder in sorted((p.parent for p in results.resolve().glob("*/logged.json")), key=lambda p: int(p.name)):
            logged = json.loads((folder / "logged.json").read_text())
            for policy in LOGGED:
                if (folder.name, policy) in known:
                    continue
                if logged["times"][policy] is None:
                    write.writerow(dict.fromkeys(COLUMNS, "") | {"number": folder.name, "log_policy": policy, "best": LOST})
                    continue
                write.writerows(shown(row) for row in rows_after(program, folder, policy))
                file.flush()
                print(f"random:{folder.name} after {policy} done", file=sys.stderr, flush=True)


def rows_after(program, folder, policy):
    """Rows of advise.py after the log of this policy, times in seconds."""
    scenario = json.loads((folder / "true.json").read_text())
    objective = scenario["objective"]
    known = [f"--set=objective.{key}={objective[key]}" for key in ("learning_rate", "batch", "input")]
    advice = json.loads(lab(program, "advise", log_of(policy), *known, "--policies", ",".join(RULES), "--members", "12", "--json", "-",
                            "--quiet", folder=folder))
    return rows_of(advice, scenario, folder.name, policy, *runs_of(folder))


def runs_of(folder):
    """Of each rule, as times_in() has them, and the limit; in seconds."""
    logged = json.loads((folder / "logged.json").read_text())
    unit = logged["unit"]
    times = times_in(folder / "runs.csv", unit)
    for rule, more in times_in(folder / "more_runs.csv", unit).items():
        times[rule] += more
    return times, logged["limit"] * unit


def table(table_file):
    with open(table_file, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    logs = {}
    for row in rows:
        if row["rule"]:
            logs.setdefault((int(row["number"]), row["log_policy"]), {})[row["rule"]] = row
    lost = {(int(row["number"]), row["log_policy"]) for row in rows if row["best"] == LOST}
    print("| log under | clusters | logs | 90 % intervals cover [over clusters] | and of rules that arrive too rarely | gain in its interval, but for the error of measuring "
          "| recommended within 5 % of the best | decision within 5 % | log's policy within 5 % | decision against the log's policy |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in [*LOGGED, "all"]:
        mine = {key: rules for key, rules in logs.items() if name in (key[1], "all")}
        reliable, every, gains = {}, {}, {}  # of each cluster: its logs share the measured runs
        judged = Judgements()
        for (number, policy), rules in mine.items():
            for into, (part, whole) in ((reliable, held_runs(rules, True)), (every, held_runs(rules, False)),
                                        (gains, held_gains(rules, policy))):
                before = into.get(number, (0, 0))
                into[number] = (before[0] + part, before[1] + whole)
            judged.add(number, policy, rules)
        if mine:
            print(f"| {name} | {len(reliable)} | {len(mine)} | {shares(list(reliable.values()))} | {shares(list(every.values()))} | "
                  f"{shares(list(gains.values()))} | {judged.cells()} |")
    print("\nThe logs of a cluster share its measured runs: `all` has each run as often as the cluster has logs.")
    nothing = {number for number, _ in lost} - {number for number, _ in logs}
    print(f"Left out: {len(lost)} logs whose run did not arrive, and with them {len(nothing)} clusters that have no other.")
    print_failures(judged.failures)  # of all


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "table":
        table(pathlib.Path(sys.argv[2]))
    elif len(sys.argv) == 5 and sys.argv[1] == "run":
        run(sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4]))
    elif len(sys.argv) == 5 and sys.argv[1] == "advise":
        advise(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]))
    else:
        sys.exit(__doc__)
