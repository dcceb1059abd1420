#!/usr/bin/env python3
"""Plants one bug after another into a copy of the headers; the conformance program must reject each of them.

usage: bugs.py ROOT GENERATED COMPILER [BUG]...     GENERATED: the folder of shield.hpp; status 1 if one is accepted
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from planted import plant  # noqa: E402

SCALE = "0.05"
BUGS = {  # name: (header, what stands there, what is put in its place)
    "the bound is off by one": (
        "sync/guard.hpp", "<= highest(workers, policy_bound);", "<= highest(workers, policy_bound) + 1;"),
    "nobody runs and nobody is released": (
        "sync/guard.hpp", "options.enabled && workers.busy() == 0 ?", "options.enabled && workers.busy() == 99 ?"),
    "the guard forgets the excluded": (
        "sync/guard.hpp", "workers.clock().size() > 0 || workers.excluded() == 0", "workers.excluded() < 99"),
    "the minimum outlives a departure": ("core/vector_clock.hpp", """    --counted_;
    find_ends();""", "    --counted_;"),
    "a commit of another push of the worker": (
        "sync/controller.hpp", "        work.serial != out_[w].serial) [[unlikely]]",
        "        out_[w].serial == 0) [[unlikely]]"),
    "clocks stay as they are at a switch": ("sync/controller.hpp", "    this->rebase(this->bound());\n", ""),
    "a ticket is dropped at a departure": (
        "sync/controller.hpp", "    give_back(workers_.id(worker), reason::departed_worker, tickets_[worker], sink);\n",
        "    tickets_[worker].reset();\n"),
    "a round is flushed before its last commit": (
        "sync/ledger.hpp", "return slot == open_ || s.out > 0 ?", "return slot == open_ ?"),
    "a closed round is never flushed": (
        "sync/ledger.hpp", "return slot == open_ || s.out > 0 ? finished_round{} : finish(slot);", "return {};"),
    "a cancelled step is not in vain": ("sync/executor.hpp", "    workers_.doom(worker, reason::cancelled);\n", ""),
    "cancellation without end": ("sync/executor.hpp", "if (cancelled) at_.may_cancel = false;", ""),
    "a released worker keeps its promise when excluded": (
        "core/roster.hpp", "    if (r.state == worker_state::released) r.state = worker_state::parked;", ""),
    "the readmitted keep their clock": (
        "core/roster.hpp", "    if (fitting != own) clock_.set(worker, fitting);\n", ""),
    "a newcomer's clock is not moved": (
        "sync/controller.hpp",
        "const clock_type fitting = std::clamp(own, lowest, saturating_add(lowest, this->bound()));",
        "const clock_type fitting = own;"),
}


def rejected(root, generated, compiler, bug):
    with tempfile.TemporaryDirectory() as name:
        include, program = pathlib.Path(name) / "include", pathlib.Path(name) / "conformance"
        try:
            plant(root, include, *BUGS[bug])
        except ValueError as problem:
            sys.exit(f"{bug}: {problem}")
        subprocess.run([compiler, "-std=c++20", "-O1", "-w", f"-I{include}", f"-I{generated}",
                        root / "tests" / "proof" / "conformance.cpp", "-o", program], check=True)
        run = subprocess.run([program, SCALE], capture_output=True, text=True, timeout=300)
    said = [line for line in run.stdout.splitlines() if line.startswith("rejected")]
    print(f"{'rejected' if said else 'ACCEPTED'}  {bug}: {(said or [f'exit status {run.returncode}'])[0]}", flush=True)
    return bool(said)


def main():
    if len(sys.argv) < 4 or any(bug not in BUGS for bug in sys.argv[4:]):
        sys.exit(__doc__)
    root, generated = pathlib.Path(sys.argv[1]), sys.argv[2]
    results = [rejected(root, generated, sys.argv[3], bug) for bug in sys.argv[4:] or BUGS]
    print(f"{sum(results)} of {len(results)} bugs rejected")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
