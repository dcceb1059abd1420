#!/usr/bin/env python3
"""Builds the fuzzers (preset `fuzz`: clang, AddressSanitizer, UndefinedBehaviorSanitizer) and lets each look for inputs
that break a promise, from its corpus on.

usage: run.py [--seconds S] [--jobs N] [--seed N] [--build FOLDER] [--build-only] [--merge] [--long] [TARGET]...

The first line is the seed: of the commit, unless --seed says another, so that each commit has a search of its own.
Then a line for each target: executions, executions a second, edges of the code that were reached, inputs of the corpus
and those found, crashes. Exit status 1 if there was one: the line after names the input, which
`RUBATO_FUZZ_TARGET=TARGET FOLDER/bin/fuzzers INPUT` tries again. What was found stays in FOLDER/fuzz/TARGET/found, where
the next run begins.

--long   the edges after an eighth, a quarter, a half and all of the time: whether more time would find more
--merge  afterwards makes each corpus a few that reach the same, named by their content
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# Options besides the common ones. max_len: bytes of an input.
OPTIONS = {
    "safetensors": {"max_len": 1024},
    "policy_card": {"max_len": 2048},
    "policy_file": {"max_len": 8192},
    "decision_log": {"max_len": 2048},
    "switch_logs": {"max_len": 1024},
    "scenario": {"max_len": 2048},
    "image_files": {"max_len": 512},
    "gloo_messages": {"max_len": 512},
    "gloo_conversation": {"max_len": 512},
    "gloo_checkpoint": {"max_len": 2048},
    "controller_state": {"max_len": 2048},
    # Ten times as many executions: there is nothing to compare with, and no corpus that would have to be weighed.
    "controller_events": {"max_len": 320, "use_value_profile": 0, "entropic": 0},
    "training_checkpoint": {"max_len": 2048},
    "search_checkpoint": {"max_len": 1024},
    "metrics_page": {"max_len": 1024},
    "results": {"max_len": 4096},
    "linux_metrics": {"max_len": 2048},
    "growth_files": {"max_len": 2048},
}
# No reader takes more memory than this, at once or in all, whatever its input claims: all inputs are small.
COMMON = {"malloc_limit_mb": 16, "rss_limit_mb": 1024, "timeout": 10, "print_final_stats": 1, "use_value_profile": 1}
# ASan: an allocation that fails is one that nobody should have tried.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=0", "UBSAN_OPTIONS": "print_stacktrace=1"}

# Of the seconds asked for. More for what still finds after minutes, less for what has found all in the first of them.
SHARES = {"controller_events": 2.5, "gloo_messages": 0.5, "gloo_checkpoint": 0.5, "image_files": 0.5,
          "linux_metrics": 0.5, "search_checkpoint": 0.5, "metrics_page": 0.5}

# Of a corpus, all of which is tried before the first new input: those that add most, which are written first.
MOST_FILES = 250
FEWER_FILES = {"controller_events": 60}  # and how often an edge is taken does not count

EVENT = re.compile(r"^#\d+\s+\w+\s+cov: (\d+)")
STAT = re.compile(r"^stat::(\w+):\s+(\d+)")
CRASH = re.compile(r"Test unit written to (\S+)")


def files(folder):
    return sorted(folder.iterdir()) if folder.is_dir() else []


def seed_of_commit():
    """The first eight digits of the commit; 1 where there is none. Never 0, which is random to libFuzzer."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True,
                                text=True).stdout
        return int(commit[:8], 16) or 1
    except (OSError, subprocess.CalledProcessError, ValueError):
        return 1


def seed(text):
    number = int(text)
    if not 0 < number < 1 << 32:
        raise argparse.ArgumentTypeError(f"found {text}, expected 1 to {(1 << 32) - 1}")
    return number


def environment(target):
    return {**os.environ, **SANITIZERS, "RUBATO_FUZZ_TARGET": target}


def command(target, build, options):
    line = [str(build / "bin" / "fuzzers")]
    line += [f"-{key}={value}" for key, value in {**COMMON, **OPTIONS[target], **options}.items()]
    dictionary = HERE / "dictionaries" / f"{target}.dict"
    return line + ([f"-dict={dictionary}"] if dictionary.is_file() else [])


class Run:
    """One target, for so many seconds."""

    def __init__(self, target, build, seconds, seed):
        self.target = target
        self.folder = build / "fuzz" / target
        self.crashes, self.stats, self.tail = [], {}, []
        self.coverage = []  # (share of the time, edges)
        found = self.folder / "found"
        found.mkdir(parents=True, exist_ok=True)
        begin = time.monotonic()
        process = subprocess.Popen(
            [*command(target, build, {"max_total_time": round(seconds), "seed": seed,
                                      "artifact_prefix": f"{self.folder}/"}),
             str(found), str(HERE / "corpus" / target)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
            env=environment(target))
        for line in process.stderr:
            if event := EVENT.match(line):
                self.coverage.append((min(1.0, (time.monotonic() - begin) / max(seconds, 1)), int(event[1])))
            elif stat := STAT.match(line):
                self.stats[stat[1]] = int(stat[2])
            elif crash := CRASH.search(line):
                self.crashes.append(crash[1])
            if not EVENT.match(line):
                self.tail = [*self.tail[-60:], line.rstrip()]
        self.status = process.wait()
        self.found = len(files(found))

    def edges(self, share=1.0):
        return max((edges for at, edges in self.coverage if at <= share), default=0)

    def cells(self, long):
        corpus = len(files(HERE / "corpus" / self.target))
        cells = [self.target, self.stats.get("number_of_executed_units", 0), self.stats.get("average_exec_per_sec", 0)]
        cells += [self.edges(share) for share in ((1 / 8, 1 / 4, 1 / 2, 1) if long else (1,))]
        return [*cells, corpus, self.found, len(self.crashes)]

    @property
    def failed(self):
        return self.status != 0 or bool(self.crashes)


def merge(target, build):
    """The corpus and what was found, as few and as small inputs as reach the same."""
    corpus, smallest = HERE / "corpus" / target, build / "fuzz" / target / "smallest"
    shutil.rmtree(smallest, ignore_errors=True)
    smallest.mkdir(parents=True)
    options = {"set_cover_merge": 1, "seed": 1, "use_value_profile": 0, "use_counters": int(target not in FEWER_FILES)}
    subprocess.run([*command(target, build, options), str(smallest),
                    str(build / "fuzz" / target / "found"), str(corpus)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(target))
    by_use = sorted(files(smallest), key=lambda path: path.stat().st_mtime_ns)
    for too_many in by_use[FEWER_FILES.get(target, MOST_FILES):]:
        too_many.unlink()
    shutil.rmtree(corpus, ignore_errors=True)
    shutil.copytree(smallest, corpus)


def build_fuzzers(build, jobs):
    subprocess.run(["cmake", "--preset", "fuzz", "-B", str(build)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(build), "-j", str(jobs), "--target", "fuzzers"],
                   check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=seed, default=seed_of_commit())
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    asked = parser.parse_args()
    written = {path.name.removesuffix("_fuzz.cpp") for path in HERE.glob("*_fuzz.cpp")}
    if written != set(OPTIONS):
        parser.error(f"run.py knows other targets than there are: {', '.join(sorted(written ^ set(OPTIONS)))}")
    if unknown := sorted(set(asked.targets) - written):
        parser.error(f"no target {', '.join(unknown)}: expected some of {', '.join(sorted(written))}")
    targets, build = asked.targets or list(OPTIONS), asked.build.resolve()
    if not asked.build_only:
        print(f"seed {asked.seed}", flush=True)
    build_fuzzers(build, asked.jobs)
    if asked.build_only:
        return 0

    edges = ["edges at 1/8", "at 1/4", "at 1/2", "at the end"] if asked.long else ["edges"]
    head = ["target", "executions", "a second", *edges, "corpus", "found", "crashes"]
    widths = [max(len(name), 20 if name == "target" else 10) for name in head]
    table = threading.Lock()

    def show(cells):
        with table:
            print("  ".join(f"{cell:{'<' if i == 0 else '>'}{widths[i]}}" for i, cell in enumerate(cells)), flush=True)

    def fuzz(target):
        run = Run(target, build, max(1, asked.seconds * SHARES.get(target, 1)), asked.seed)
        show(run.cells(asked.long))
        return run

    show(head)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        runs = list(pool.map(fuzz, targets))
    for run in runs:
        if run.failed:
            print(f"{run.target}: {', '.join(run.crashes) or f'ended with {run.status}'}")
            print("\n".join(f"    {line}" for line in run.tail[-40:]))
    if any(run.failed for run in runs):
        return 1
    if asked.merge:
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            list(pool.map(lambda target: merge(target, build), targets))
        show(["merged", *[""] * (len(head) - 4), sum(len(files(HERE / "corpus" / t)) for t in targets), "", ""])
    return 0


if __name__ == "__main__":
    sys.exit(main())
