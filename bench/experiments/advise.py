#!/usr/bin/env python3
"""How good is the advice of `rubato-lab advise`? Tries it on clusters that are known.

For each number the cluster is random:NUMBER of the lab, if it has no link; who straggles is made a fixed count, so that
every seed has the same cluster. One run of one policy (they take turns) leaves a decision log. The advice knows that log,
and what an engineer knows of the training: learning rate, batch, input scale and target; not the machines, not the
stragglers, not the model's depth. Then each rule is measured on other seeds, and compared with what was predicted.

Even numbers are for development, odd ones are held out: nothing was chosen by looking at them.

usage: advise.py LAB RESULTS.csv FIRST LAST [STEP]     measures what RESULTS does not have yet, a row for each cluster and rule
       advise.py table RESULTS.csv              prints the tables of docs/advise.md
"""
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

RULES = ["bsp:sum", "asp", "ssp:1", "ssp:3", "ssp:8", "distilled", "knee", "learned"]
LOGGED = ["asp", "ssp:3", "bsp:sum"]
SEEDS = 6
LOG_SEED = 1001
COLUMNS = ["number", "workers", "cores", "stragglers", "hidden_layers", "log_policy", "steps", "fitted_cores",
           "fitted_stragglers", "best", "keep", "rule", "predicted", "low", "high", "gain", "gain_low", "gain_high",
           "measured", "deviation", "covered", "runs", "reached"]


def lab(program, *arguments, folder):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def cluster(program, number, folder):
    """The scenario, or None if it has a link."""
    scenario = json.loads(lab(program, "scenarios", f"random:{number}", folder=folder))
    if scenario["cluster"]["link"]["bandwidth"] > 0:
        return None
    stragglers = scenario["stragglers"]
    if stragglers["kind"] in ("static", "burst"):
        stragglers["count"] = round(stragglers["probability"] * scenario["workers"])
        stragglers["probability"] = None
    return scenario


def measure(program, number, folder):
    """A row for each rule."""
    scenario = cluster(program, number, folder)
    if scenario is None:
        return []
    true = folder / "true.json"
    true.write_text(json.dumps(scenario))
    policy = LOGGED[number // 2 % len(LOGGED)]
    quick = ["--no-cache", "--quiet", "--threads", "1"]
    logged = json.loads(lab(program, "compare", "--scenario", true, "--policies", policy, "--seed", str(LOG_SEED), "--seeds",
                            "1", "--log", "log.jsonl", "--json", "-", *quick, folder=folder))["rows"][0]
    if logged["reached"] == 0:
        return [dict.fromkeys(COLUMNS, "") | {"number": number, "log_policy": policy, "best": "log did not arrive"}]
    objective = scenario["objective"]
    known = [f"--set=objective.{key}={objective[key]}" for key in ("learning_rate", "batch", "input")]
    advice = json.loads(lab(program, "advise", "log.jsonl", *known, "--policies", ",".join(RULES), "--members", "12",
                            "--json", "-", "--quiet", "--threads", "1", folder=folder))
    limit = 4 * logged["time_iqm"]
    lab(program, "compare", "--scenario", true, "--policies", ",".join(RULES), "--seeds", str(SEEDS), "--set",
        f"objective.max_time={limit}", "--csv", "runs.csv", *quick, folder=folder)
    return rows_of(advice, scenario, number, policy, times_in(folder / "runs.csv"), limit)


def times_in(file, unit=1):
    """Of each policy, in units of the caller's, with whether the run reached the target."""
    times = {}
    with open(file, encoding="utf-8", newline="") as lines:
        for run in csv.DictReader(lines):
            times.setdefault(run["policy"], []).append((float(run["time"]) * unit, run["reached"] == "1"))
    return times


def mean_time(runs):
    return math.exp(sum(math.log(time) for time, _ in runs) / len(runs))


def deviation(runs):
    """Of the logarithm of a run's time."""
    return statistics.stdev(math.log(time) for time, _ in runs)


def rows_of(advice, scenario, number, policy, times, limit):
    """A row for each rule of the advice after a log under `policy`; runs were given up at the limit."""
    fitted = advice["scenario"]
    rows = []
    for rule in advice["rules"]:
        runs = times[rule["policy"]]
        low, high = rule["time"]["low"], rule["time"]["high"]
        gain = rule["gain"] or {"value": "", "low": "", "high": ""}
        rows.append({
            "number": number, "workers": scenario["workers"], "cores": scenario["cluster"]["cores"],
            "stragglers": scenario["stragglers"]["kind"], "hidden_layers": scenario["objective"]["hidden_layers"],
            "log_policy": policy, "steps": advice["log"]["steps"], "fitted_cores": fitted["cluster"]["cores"],
            "fitted_stragglers": fitted["stragglers"]["kind"], "best": advice["best"], "keep": int(advice["keep"]),
            "rule": rule["policy"], "predicted": rule["time"]["value"] if rule["reliable"] else "", "low": low,
            "high": high, "gain": gain["value"], "gain_low": gain["low"], "gain_high": gain["high"],
            "measured": mean_time(runs), "deviation": deviation(runs),
            # a run that was given up took longer than the limit
            "covered": sum(low <= time <= high if there else high >= limit for time, there in runs),
            "runs": len(runs), "reached": sum(there for _, there in runs)})
    return rows


def rows_to_go_on_with(results):
    """What was measured already. Rows of an older version are not mixed with newer ones."""
    if not results.exists():
        return []
    with open(results, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    if reader.fieldnames is not None and reader.fieldnames != COLUMNS:
        sys.exit(f"{results}: found other columns than this version writes; give another file")
    return rows


def shown(row):
    return {key: f"{value:.5g}" if isinstance(value, float) else value for key, value in row.items()}


def run(program, results, first, last, step=1):
    program = str(pathlib.Path(program).resolve())
    known = {int(row["number"]) for row in rows_to_go_on_with(results)}
    with open(results, "a", encoding="utf-8", newline="") as file:
        write = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not known and file.tell() == 0:
            write.writeheader()
        for number in range(first, last + 1, step):
            if number in known:
                continue
            with tempfile.TemporaryDirectory() as folder:
                write.writerows(shown(row) for row in measure(program, number, pathlib.Path(folder)))
            file.flush()
            print(f"random:{number} done", file=sys.stderr)


def percent(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "-"


def held_runs(rules, reliable_only):
    """The shares of runs in the interval of their rule, added up, and how many rules: each weighs the same, also where it
    was measured more often."""
    counted = [row for row in rules.values() if row["predicted"] or not reliable_only]
    return sum(int(row["covered"]) / int(row["runs"]) for row in counted), len(counted)


def held_gains(rules, policy):
    """Gains over the log's policy that are in their interval, and gains, of one log. An interval of a gain is about what the log
    leaves open; the gain that it is held against is of two means of few runs, so that their error (90 %) is added in quadrature.
    Files of older versions have no upper end, or no deviation."""
    held = counted = 0
    base = rules[policy]
    for rule, row in rules.items():
        if rule == policy or not row["gain"] or not row.get("gain_high") or not row.get("deviation"):
            continue
        measured = math.log(float(base["measured"]) / float(row["measured"]))
        low, middle, high = (math.log1p(float(row[key])) for key in ("gain_low", "gain", "gain_high"))
        error = 1.645 * math.sqrt(sum(float(each["deviation"]) ** 2 / int(each["runs"]) for each in (base, row)))
        held += middle - math.hypot(middle - low, error) <= measured <= middle + math.hypot(high - middle, error)
        counted += 1
    return held, counted


def over_clusters(parts):
    """90 % interval in per cent of a share, of (part, whole) of each cluster: what is in a cluster stands or falls together, so
    whole clusters are resampled."""
    draw = random.Random(1)
    shares = []
    for _ in range(4000):
        sample = draw.choices(parts, k=len(parts))
        whole = sum(each[1] for each in sample)
        if whole:
            shares.append(sum(each[0] for each in sample) / whole)
    shares.sort()
    return f" [{100 * shares[len(shares) // 20]:.0f}, {100 * shares[-1 - len(shares) // 20]:.0f}]" if shares else ""


def shares(parts):
    """For a table: the share of all, with its interval."""
    part, whole = (sum(each[i] for each in parts) for i in (0, 1))
    return f"{100 * part / whole:.0f} %{over_clusters(parts)}" if whole else "-"


class Judgements:
    """How far the rules that the advice on some logs names are behind the best measured ones."""

    def __init__(self):
        self.logs = self.close = self.decided_close = self.log_close = 0
        self.ratio = 0.0
        self.failures = []  # rows of a table: decisions that are more than 5 % behind

    def add(self, number, policy, rules):
        """The rows of a log under `policy`, by rule."""
        measured = {rule: float(row["measured"]) for rule, row in rules.items()}
        best = min(measured, key=measured.get)
        row = next(iter(rules.values()))
        take = row["best"] or policy
        decision = policy if row["keep"] == "1" else take
        self.logs += 1
        self.close += measured[take] <= 1.05 * measured[best]
        self.decided_close += measured[decision] <= 1.05 * measured[best]
        self.log_close += measured[policy] <= 1.05 * measured[best]
        self.ratio += math.log(measured[policy] / measured[decision])
        if measured[decision] > 1.05 * measured[best]:
            self.failures.append(f"| {number} | {row['workers']} | {row['cores']} ({row['fitted_cores']}) | {row['stragglers']} "
                                 f"({row['fitted_stragglers']}) | {policy} | {decision}{' (kept)' if row['keep'] == '1' else ''} | "
                                 f"{best} | {100 * (measured[decision] / measured[best] - 1):.0f} % |")

    def cells(self):
        return (f"{percent(self.close, self.logs)} | {percent(self.decided_close, self.logs)} | {percent(self.log_close, self.logs)} | "
                f"{math.exp(self.ratio / self.logs):.2f} times as quick")


def print_failures(failures):
    print("\n| random: | workers | cores (fitted) | stragglers (fitted) | log | decision | best measured | slower by |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(failures))


def table(results):
    with open(results, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    print("| clusters | 90 % intervals cover [over clusters] | and of rules that arrive too rarely | gain in its interval, but for the error of measuring "
          "| recommended within 5 % of the best | decision within 5 % | log's policy within 5 % | decision against the log's policy |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    failures = []
    for name, odd in (("development", 0), ("held out", 1)):
        half = [row for row in rows if int(row["number"]) % 2 == odd and row["rule"]]
        numbers = sorted({int(row["number"]) for row in half})
        reliable, every, gains = [], [], []
        judged = Judgements()
        for number in numbers:
            mine = {row["rule"]: row for row in half if int(row["number"]) == number}
            logged = next(iter(mine.values()))["log_policy"]
            reliable.append(held_runs(mine, True))
            every.append(held_runs(mine, False))
            gains.append(held_gains(mine, logged))
            judged.add(number, logged, mine)
        failures += judged.failures
        if numbers:
            print(f"| {name}: {len(numbers)} | {shares(reliable)} | {shares(every)} | {shares(gains)} | {judged.cells()} |")
    lost = sum(row["best"] == "log did not arrive" for row in rows)
    if lost:
        print(f"\n{lost} clusters whose logged run did not arrive are left out.")
    print_failures(failures)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "table":
        table(pathlib.Path(sys.argv[2]))
    elif len(sys.argv) in (5, 6):
        run(sys.argv[1], pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:]))
    else:
        sys.exit(__doc__)
