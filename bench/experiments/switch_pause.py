#!/usr/bin/env python3
"""How long a job over Gloo stands still when it goes from BSP to ASP; for docs/sync-switch-results.md.

    switch_pause.py build/release/bin [--programs torch --data FOLDER] [--workers 4] [--steps 400] [--runs 5]

Each run makes the job twice. In the first one the policy is sync_switch, which changes its rule in place after a quarter
of the steps: from the decision log, how long the server received no gradient across that barrier, beside the barriers
before it (a barrier is silent for as long as the next step takes). In the second one the policy is bsp:sum, and an
operator orders asp; the server tells the pause, from the last push before to the first release after.
"""
import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

LAUNCH = pathlib.Path(__file__).resolve().parents[2] / "integrations" / "gloo_ps" / "launch.py"
SWITCHED = re.compile(r"switched \S+ -> \S+: ([\d.]+) s")
SHARE = 0.25


def job(o, seed, policy, folder, *server):
    """The server's output."""
    command = [sys.executable, LAUNCH, "--bin", o.bin, "--programs", o.programs, "--workers", str(o.workers),
               "--policy", policy, "--steps", str(o.steps), "--stragglers", "0", "--task", "images",
               "--seed", str(seed), "--logs", folder, "--time-limit", "900"]
    command += ["--data", o.data] if o.data else []
    made = subprocess.run([*command, "--", *server], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(f"switch_pause.py: the job under {policy} ended with {made.returncode}:\n{made.stdout}{made.stderr}")
    return made.stdout


def silences(log, workers, barriers):
    """Seconds from the last gradient of each of the first barriers to the next gradient, of whomever."""
    arrivals = [entry["now"] for entry in map(json.loads, log.read_text().splitlines()) if entry.get("what") == "admit"]
    return [arrivals[b * workers] - arrivals[b * workers - 1] for b in range(1, barriers + 1)]


def in_place(o, seed, folder):
    """(silence at the switch, silences at the barriers before)."""
    log = folder / "run.jsonl"
    job(o, seed, f"syncswitch:{SHARE}:{o.workers * o.steps}", folder / "switch", "--log", str(log))
    *before, switch = silences(log, o.workers, math.ceil(SHARE * o.steps))  # the first barrier with the whole share
    return switch, before


def ordered(o, seed, folder):
    """Seconds that the server tells."""
    control = folder / "control"

    def order():
        while not (log := folder / "order" / "worker0.log").is_file() or "incarnation 0 at" not in log.read_text():
            time.sleep(0.05)
        time.sleep(1)
        beside = folder / "beside"
        beside.write_text("policy asp\n")
        beside.rename(control)

    threading.Thread(target=order, daemon=True).start()
    told = SWITCHED.search(job(o, seed, "bsp:sum", folder / "order", "--control", str(control)))
    if not told:
        sys.exit("switch_pause.py: the server told of no switch, expected one: give the job more --steps")
    return float(told[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("bin", type=pathlib.Path, help="folder of the programs")
    parser.add_argument("--programs", choices=("gloo", "torch"), default="gloo")
    parser.add_argument("--data", type=pathlib.Path, help="folder with images; those of the repository if not given")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=400, help="of each worker")
    parser.add_argument("--runs", type=int, default=5)
    o = parser.parse_args()
    if o.workers < 1 or o.steps < 8 or o.runs < 1:
        parser.error("expected --workers and --runs of at least 1, and --steps of at least 8: barriers before the switch")
    print("| seed | silence at the switch, ms | at the barriers before it: median, longest, ms | "
          "pause of an operator's order, ms |\n| --- | --- | --- | --- |")
    for seed in range(1, o.runs + 1):
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            switch, before = in_place(o, seed, folder)
            pause = ordered(o, seed, folder)
        print(f"| {seed} | {1e3 * switch:.1f} | {1e3 * statistics.median(before):.1f}, {1e3 * max(before):.1f} | "
              f"{1e3 * pause:.3f} |", flush=True)


if __name__ == "__main__":
    main()
