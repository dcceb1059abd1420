#!/usr/bin/env python3
"""How good is the advice of `rubato-lab advise` on logs of real runs? As advise.py, on the threads host.

Takes the clusters random:NUMBER of the lab, in their order, that have no link, 4 to 16 workers, and a simulated run under asp
of at most 250 units of time. On each a real run under each of three policies leaves a decision log, and each rule is measured
in real time on other seeds. The advice knows what advise.py lets it know, and its times are in seconds. Nothing was chosen by
looking at these.

usage: advise_on_threads.py run LAB FOLDER CLUSTERS         real runs, on an idle machine; goes on where it was
       advise_on_threads.py advise LAB FOLDER RESULTS.csv   the advice on each log: a row for each log and rule
       advise_on_threads.py table RESULTS.csv               prints the tables of docs/advise.md
"""
import csv
import json
import math
import pathlib
import sys

from advise import (COLUMNS, LOGGED, LOG_SEED, RULES, cluster, held_gains, held_runs, lab, percent, rows_to_go_on_with, shares,
                    shown)

SEEDS = 5
UNIT = 0.01  # seconds
LONGEST = 250
LOST = "log did not arrive"
HOST = ["--host", "threads", "--time-scale", str(UNIT), "--no-cache", "--quiet"]


def simulated_time(program, scenario, folder):
    row = json.loads(lab(program, "compare", "--scenario", scenario, "--policies", "asp", "--seeds", "1", "--json", "-", "--no-cache",
                         "--quiet", folder=folder))["rows"][0]
    return row["time_iqm"] if row["reached"] else math.inf


def measure(program, number, folder):
    """Leaves true.json, LOG.jsonl for each logged policy, logged.json and runs.csv; false if the cluster is none of ours."""
    scenario = cluster(program, number, folder)
    if scenario is None or not 4 <= scenario["workers"] <= 16:
        return False
    (folder / "true.json").write_text(json.dumps(scenario))
    if simulated_time(program, "true.json", folder) > LONGEST:
        return False
    logged = {}
    for policy in LOGGED:
        row = json.loads(lab(program, "compare", "--scenario", "true.json", "--policies", policy, "--seed", str(LOG_SEED), "--seeds",
                             "1", "--log", log_of(policy), "--json", "-", *HOST, folder=folder))["rows"][0]
        logged[policy] = row["time_iqm"] if row["reached"] else None
    longest = max((time for time in logged.values() if time), default=0)
    if longest:
        lab(program, "compare", "--scenario", "true.json", "--policies", ",".join(RULES), "--seeds", str(SEEDS), "--set",
            f"objective.max_time={4 * longest}", "--csv", "runs.csv", *HOST, folder=folder)
    (folder / "logged.json").write_text(json.dumps({"times": logged, "limit": 4 * longest}))
    return longest > 0


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
            if not measure(program, number, folder):
                (folder / "none").touch()
            print(f"random:{number} done", file=sys.stderr, flush=True)
        done += (folder / "runs.csv").exists()


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
                write.writerows(shown(row) for row in rows_of(program, folder, policy, logged["limit"] * UNIT))
                file.flush()
                print(f"random:{folder.name} after {policy} done", file=sys.stderr, flush=True)


def rows_of(program, folder, policy, limit):
    """Rows of advise.py, times in seconds."""
    scenario = json.loads((folder / "true.json").read_text())
    objective = scenario["objective"]
    known = [f"--set=objective.{key}={objective[key]}" for key in ("learning_rate", "batch", "input")]
    advice = json.loads(lab(program, "advise", log_of(policy), *known, "--policies", ",".join(RULES), "--members", "12", "--json", "-",
                            "--quiet", folder=folder))
    times = {}
    with open(folder / "runs.csv", encoding="utf-8", newline="") as file:
        for one in csv.DictReader(file):
            times.setdefault(one["policy"], []).append((float(one["time"]) * UNIT, one["reached"] == "1"))
    fitted = advice["scenario"]
    for rule in advice["rules"]:
        runs = times[rule["policy"]]
        low, high = rule["time"]["low"], rule["time"]["high"]
        gain = rule["gain"] or {"value": "", "low": "", "high": ""}
        yield {
            "number": folder.name, "workers": scenario["workers"], "cores": scenario["cluster"]["cores"],
            "stragglers": scenario["stragglers"]["kind"], "hidden_layers": objective["hidden_layers"], "log_policy": policy,
            "steps": advice["log"]["steps"], "fitted_cores": fitted["cluster"]["cores"],
            "fitted_stragglers": fitted["stragglers"]["kind"], "best": advice["best"], "keep": int(advice["keep"]),
            "rule": rule["policy"], "predicted": rule["time"]["value"] if rule["reliable"] else "", "low": low, "high": high,
            "gain": gain["value"], "gain_low": gain["low"], "gain_high": gain["high"],
            "measured": math.exp(sum(math.log(time) for time, _ in runs) / len(runs)),
            "covered": sum(low <= time <= high if there else high >= limit for time, there in runs), "runs": len(runs),
            "reached": sum(there for _, there in runs)}


def table(table_file):
    with open(table_file, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    logs = {}
    for row in rows:
        if row["rule"]:
            logs.setdefault((int(row["number"]), row["log_policy"]), {})[row["rule"]] = row
    lost = {(int(row["number"]), row["log_policy"]) for row in rows if row["best"] == LOST}
    print("| log under | clusters | logs | 90 % intervals cover [over clusters] | and of rules that arrive too rarely | gain in its interval "
          "| recommended within 5 % of the best | decision within 5 % | log's policy within 5 % | decision against the log's policy |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    failures = []
    for name in [*LOGGED, "all"]:
        mine = {key: rules for key, rules in logs.items() if name in (key[1], "all")}
        reliable, every, gains = {}, {}, {}  # of each cluster: its logs share the measured runs
        close = decided_close = log_close = 0
        ratio = 0.0
        for (number, policy), rules in mine.items():
            for into, (part, whole) in ((reliable, held_runs(rules, True)), (every, held_runs(rules, False)),
                                        (gains, held_gains(rules, policy))):
                before = into.get(number, (0, 0))
                into[number] = (before[0] + part, before[1] + whole)
            measured = {rule: float(row["measured"]) for rule, row in rules.items()}
            best = min(measured, key=measured.get)
            row = next(iter(rules.values()))
            take = row["best"] or policy
            decision = policy if row["keep"] == "1" else take
            close += measured[take] <= 1.05 * measured[best]
            decided_close += measured[decision] <= 1.05 * measured[best]
            log_close += measured[policy] <= 1.05 * measured[best]
            ratio += math.log(measured[policy] / measured[decision]) / len(mine)
            if name == "all" and measured[decision] > 1.05 * measured[best]:
                failures.append(f"| {number} | {row['workers']} | {row['cores']} ({row['fitted_cores']}) | {row['stragglers']} "
                                f"({row['fitted_stragglers']}) | {policy} | {decision}{' (kept)' if row['keep'] == '1' else ''} | {best} | "
                                f"{100 * (measured[decision] / measured[best] - 1):.0f} % |")
        if mine:
            print(f"| {name} | {len(reliable)} | {len(mine)} | {shares(list(reliable.values()))} | {shares(list(every.values()))} | "
                  f"{shares(list(gains.values()))} | {percent(close, len(mine))} | {percent(decided_close, len(mine))} | "
                  f"{percent(log_close, len(mine))} | {math.exp(ratio):.2f} times as quick |")
    print("\nThe logs of a cluster share its measured runs: `all` has each run as often as the cluster has logs.")
    nothing = {number for number, _ in lost} - {number for number, _ in logs}
    print(f"Left out: {len(lost)} logs whose run did not arrive, and with them {len(nothing)} clusters that have no other.")
    print("\n| random: | workers | cores (fitted) | stragglers (fitted) | log | decision | best measured | slower by |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(failures))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "table":
        table(pathlib.Path(sys.argv[2]))
    elif len(sys.argv) == 5 and sys.argv[1] == "run":
        run(sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4]))
    elif len(sys.argv) == 5 and sys.argv[1] == "advise":
        advise(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]))
    else:
        sys.exit(__doc__)
