#!/usr/bin/env python3
"""Starts a server and workers on this machine, some of them stragglers, and ends them all.

    launch.py --bin build/release/bin --workers 4 --policy ssp:3 --steps 500 --stragglers 1

Every process writes a log of its own; the last line of each is printed at the end. All processes are in one process
group, which is killed when the job has ended, when the time limit is over, or when this program is interrupted: none is
left behind. Exit status 0: server and workers ended with 0; 1: one did not, or time was up; 2: wrong options.
"""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time


class Group:
    """Processes in one group, held by a process that only waits."""

    def __init__(self, logs, seconds):
        self.logs = logs
        self.running = {}
        self.holder = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds + 60})"], process_group=0)

    def start(self, name, command):
        with open(self.logs / f"{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                  process_group=self.holder.pid)

    def end(self):
        """Kills what is left and waits for it; the names of those that were still running."""
        late = [name for name, process in self.running.items() if process.poll() is None]
        try:
            os.killpg(self.holder.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        for process in [*self.running.values(), self.holder]:
            process.wait()
        return late


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                     epilog="What follows -- goes to the server, for instance: -- --momentum 0.9")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--programs", choices=("gloo", "torch"), default="gloo",
                        help="gloo_server and gloo_worker, or torch_server and torch_worker")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--policy", default="ssp:3")
    parser.add_argument("--steps", type=int, default=500, help="of each worker")
    parser.add_argument("--compute", type=float,
                        help="milliseconds that each step is asleep, besides what it takes (default: 2; the programs of torch: 0)")
    parser.add_argument("--stragglers", type=int, default=1, help="workers that straggle, drawn by the seed")
    parser.add_argument("--straggle", type=float, default=0.3, help="share of their steps that take longer")
    parser.add_argument("--straggle-for", type=float, default=20.0, help="by so many milliseconds")
    parser.add_argument("--kills", type=int, default=0, help="workers that are killed and started again, at seeded instants")
    parser.add_argument("--dimension", type=int, help="parameters of regression and count (default: 64)")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--task", choices=("regression", "images", "count"),
                        help="default: regression; the programs of torch have images alone")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "examples" / "data",
                        help="folder with images, for --task images")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time-limit", type=int, default=120, help="seconds, for all of it")
    parser.add_argument("--logs", type=pathlib.Path, help="folder for logs and report; a temporary one that goes if not given")
    parser.add_argument("server", nargs="*", help="more options of the server, after --")
    chosen = parser.parse_args()
    for part in ("server", "worker"):
        if not os.access(chosen.bin / f"{chosen.programs}_{part}", os.X_OK):
            parser.error(f"--bin {chosen.bin}: there is no program {chosen.programs}_{part}")
    if chosen.task is None:
        chosen.task = "images" if chosen.programs == "torch" else "regression"
    if chosen.compute is None:
        chosen.compute = 0.0 if chosen.programs == "torch" else 2.0
    if chosen.programs == "torch" and chosen.task != "images":
        parser.error(f"--task {chosen.task}: the programs of torch train images")
    if chosen.programs == "torch" and chosen.dimension is not None:
        parser.error(f"--dimension {chosen.dimension}: the nets of the programs of torch have their own")
    if chosen.workers < 1 or not 0 <= chosen.stragglers <= chosen.workers or chosen.steps < 1:
        parser.error("expected at least one worker, one step, and at most as many stragglers as workers")
    return chosen


def commands(o, folder):
    """The server's command, and a function from a worker's index to its command."""
    both = ["--store", f"file:{folder / 'store'}", "--task", o.task, "--shards", str(o.shards), "--seed", str(o.seed),
            "--time-limit", str(o.time_limit), "--data", str(o.data)]
    if o.dimension is not None:
        both += ["--dimension", str(o.dimension)]
    server = [str(o.bin / f"{o.programs}_server"), *both, "--workers", str(o.workers), "--policy", o.policy, "--done", str(o.workers),
              "--report", str(folder / "report.json"), *o.server]
    slow = set(random.Random(o.seed).sample(range(o.workers), o.stragglers))

    def worker(index):
        share = o.straggle if index in slow else 0.0
        return [str(o.bin / f"{o.programs}_worker"), *both, "--index", str(index), "--steps", str(o.steps), "--compute", str(o.compute),
                "--straggle", str(share), "--straggle-for", str(o.straggle_for), "--give-up", "30"]

    return server, worker


def run(o, folder):
    (folder / "store").mkdir()
    server, worker = commands(o, folder)
    group = Group(folder, o.time_limit)
    chance = random.Random(f"{o.seed} kills")
    end = time.monotonic() + o.time_limit
    try:
        group.start("server", server)
        for index in range(o.workers):
            group.start(f"worker{index}", worker(index))
        kills, next_kill = o.kills, time.monotonic() + chance.uniform(0.3, 1.0)
        while time.monotonic() < end and any(process.poll() is None for process in group.running.values()):
            if group.running["server"].poll() not in (None, 0):
                break  # its workers would look for it until they give up
            index = chance.randrange(o.workers) if kills > 0 and time.monotonic() >= next_kill else None
            if index is not None:
                next_kill = time.monotonic() + chance.uniform(0.1, 0.5)
                victim = group.running[f"worker{index}"]
                if victim.poll() is None:
                    kills -= 1
                    victim.kill()
                    victim.wait()
                    group.start(f"worker{index}", worker(index))
            time.sleep(0.02)
    finally:
        late = group.end()
    bad = [name for name, process in group.running.items() if process.returncode != 0]
    for name in group.running:
        text = (folder / f"{name}.log").read_text(errors="replace").strip().splitlines()
        for line in text if name == "server" else text[-1:]:
            print(line if name == "server" or line.startswith("worker") else f"{name}: {line}")
    for name in bad:
        why = "was still running when it had to end" if name in late else f"ended with {group.running[name].returncode}"
        print(f"launch.py: {name} {why}", file=sys.stderr)
    return 1 if bad else 0


def main():
    def interrupted(number, _):
        raise KeyboardInterrupt(number)

    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, interrupted)
    chosen = options()
    if chosen.logs:
        chosen.logs.mkdir(parents=True, exist_ok=True)
        if (chosen.logs / "store").exists():
            print(f"launch.py: --logs {chosen.logs}: holds another job, expected a new folder", file=sys.stderr)
            return 2
        return run(chosen, chosen.logs.resolve())
    with tempfile.TemporaryDirectory() as folder:
        return run(chosen, pathlib.Path(folder))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(1)
