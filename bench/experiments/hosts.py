#!/usr/bin/env python3
"""What each host of integrations/ carries on this machine, and what it does when a worker is killed; for docs/hosts.md.

    hosts.py build/bench/bin [--runs N]

Pushes a second: four workers that compute nothing, a small model and one of a million parameters, ASP; the best of N
runs, which take turns. Of averaging_group, averages a second of four members.
Killed: one of four workers with steps of 5 ms is killed under BSP, where all others wait for it. How long the longest
stillstand of the server was (from its decision log), and whether the others finished.
Programs that are not there are left out.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

WORKERS = 4
ENDED = re.compile(r"ended at version (\d+) after ([\d.]+) s")


def mpirun(ranks, *more):
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), *more]
    return command[:1] + ["--allow-run-as-root"] + command[1:] if os.geteuid() == 0 else command


class Gloo:
    """gloo_server and gloo_worker."""

    def __init__(self, bin_, folder, server, worker):
        store = folder / "store"
        store.mkdir()
        both = ["--store", f"file:{store}", "--time-limit", "100"]
        self.server = subprocess.Popen([bin_ / "gloo_server", *both, "--workers", str(WORKERS), "--done", str(WORKERS), *server],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.workers = [subprocess.Popen([bin_ / "gloo_worker", *both, "--index", str(w), *worker], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL) for w in range(WORKERS)]

    def kill(self):
        self.workers[2].kill()
        self.workers[2].wait()

    def end(self):
        """The server's output; those who are left are ended by its end, after they have finished."""
        for worker in self.workers:
            worker.wait()
        self.server.send_signal(signal.SIGTERM)
        return self.server.communicate()[0], self.server.returncode


class Mpi:
    """mpi_train; options of mpirun."""

    def __init__(self, bin_, folder, server, worker, options=()):
        self.job = subprocess.Popen([*mpirun(WORKERS + 1, *options), bin_ / "mpi_train", "--time-limit", "100", *server, *worker],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)

    def kill(self):
        for child in pathlib.Path(f"/proc/{self.job.pid}/task/{self.job.pid}/children").read_text().split():
            if b"OMPI_COMM_WORLD_RANK=3\0" in pathlib.Path(f"/proc/{child}/environ").read_bytes():
                os.kill(int(child), signal.SIGKILL)

    def end(self):
        return self.job.communicate()[0], self.job.returncode


def in_folder(make, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        return make(pathlib.Path(folder), *arguments).end()


def pace(text):
    found = ENDED.search(text)
    if not found:
        raise SystemExit(f"hosts.py: a run did not end:\n{text}")
    return int(found[1]) / float(found[2])


def throughput(o):
    """Pushes a second of each host, for each size: the best of several runs."""
    def networked(make, size, steps):
        task = ["--task", "count", "--dimension", str(size), "--shards", "2"]
        server = [*task, "--policy", "asp", "--samples", "1"]
        both = task if make is Gloo else []
        return in_folder(lambda folder: make(o.bin, folder, server, [*both, "--steps", str(steps), "--compute", "0"]))[0]

    def direct(name):
        return lambda size, steps: subprocess.run([o.bin / name, str(WORKERS), str(size), str(steps)], check=True,
                                                  capture_output=True, text=True).stdout

    hosts = {"threads_ps": ("threads_push", direct("threads_push"), (50_000, 300)),
             "gloo_ps": ("gloo_server", lambda *a: networked(Gloo, *a), (2_000, 60)),
             "mpi_ps, shared memory": ("mpi_train", lambda *a: networked(Mpi, *a), (2_000, 60)),
             "mpi_ps, TCP": ("mpi_train", lambda *a: networked(
                 lambda *b: Mpi(*b, options=("--mca", "pml", "ob1", "--mca", "btl", "tcp,self")), *a), (2_000, 60)),
             "averaging_group": ("torch_averages", direct("torch_averages"), (5_000, 200))}
    hosts = {name: host for name, host in hosts.items() if (o.bin / host[0]).exists()}
    sizes = (64, 1_000_000)
    best = {}
    for _ in range(o.runs):
        for name, (_, run, steps) in hosts.items():
            for size, count in zip(sizes, steps):
                best[name, size] = max(best.get((name, size), 0), pace(run(size, count)))
    print("| host | 64 parameters, pushes/s | 1,000,000 parameters, pushes/s |\n| --- | ---: | ---: |")
    for name in hosts:
        print(f"| {name} | " + " | ".join(f"{best[name, size]:,.0f}" for size in sizes) + " |")


def stillstand(log):
    """The longest time without a push, but for the beginning."""
    times = [record["now"] for record in map(json.loads, log.read_text().splitlines()[1:]) if record["what"] == "commit"]
    return max(b - a for a, b in zip(times[20:], times[21:])), len(times)


def death(o):
    print("\n| host | the others stand still for | and then | status |\n| --- | ---: | --- | ---: |")
    rows = {"gloo_ps": ("gloo_server", Gloo), "mpi_ps, mpirun --enable-recovery": ("mpi_train", lambda *a: Mpi(*a, options=("--enable-recovery",))),
            "mpi_ps, mpirun": ("mpi_train", Mpi)}
    for name, (program, make) in rows.items():
        if not (o.bin / program).exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            log = folder / "log.jsonl"
            task = ["--task", "count", "--dimension", str(WORKERS)]
            steps = 600
            job = make(o.bin, folder, [*task, "--policy", "bsp", "--samples", "1", "--log", str(log), "--floor", "1", "--ceiling", "3"],
                       [*(task if make is Gloo else []), "--steps", str(steps), "--compute", "5"])
            time.sleep(2.5)
            begin = time.monotonic()
            job.kill()
            text, status = job.end()
            took = time.monotonic() - begin
            if log.exists():
                longest, pushes = stillstand(log)
                then = "all of their steps" if pushes >= (WORKERS - 1) * steps else "NOT all of their steps"
                print(f"| {name} | {longest:.3f} s | {then}: {pushes} pushes | {status} |")
            else:
                print(f"| {name} | - | the job was over {took:.1f} s later | {status} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("bin", type=pathlib.Path, help="folder of the programs")
    parser.add_argument("--runs", type=int, default=3)
    o = parser.parse_args()
    o.bin = o.bin.resolve()
    throughput(o)
    death(o)


if __name__ == "__main__":
    sys.exit(main())
