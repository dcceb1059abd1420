#!/usr/bin/env python3
"""Puts bugs into copies of the headers, one at a time, and lets the model checker find them.

Each bug is one that a plausible edit would make: a text that occurs once in a header, and what it becomes. The program of
tests/model/seeded.cpp is compiled with the changed copy and explores one rule in one scope: it has to end with a
counter-example, and without the bug it has to find none. Exit status 1 and a line for each bug that is not found.

usage: seeded.py [--compiler CXX] [--jobs N] [BUG]...
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from planted import plant  # noqa: E402

# name: (header below include/rubato, text, text with the bug, rule, scope)
BUGS = {
    "guard: the bound is one too high": (
        "sync/guard.hpp",
        "saturating_add(workers.clock().minimum(), (std::min)(options.bound, policy_bound))",
        "saturating_add(workers.clock().minimum() + 1, (std::min)(options.bound, policy_bound))",
        "any_answer", "two"),
    "vector clock: the minimum stays after a departure": (
        "core/vector_clock.hpp",
        "leave(worker, std::exchange(entries_[worker].bucket, ends));\n    --counted_;\n    find_ends();",
        "leave(worker, std::exchange(entries_[worker].bucket, ends));\n    --counted_;",
        "ssp_1", "two"),
    "executor: what is left to be released is forgotten": (
        "sync/executor.hpp",
        "if (!sweep(d, round, budget, sink)) residue_ = {d, round};",
        "static_cast<void>(sweep(d, round, budget, sink));",
        "bsp", "three"),
    "executor: who was withheld does not go when the minimum moves": (
        "sync/executor.hpp",
        "workers_.clock().minimum() != at_.asked_minimum || bound() > at_.asked_bound",
        "bound() > at_.asked_bound",
        "any_answer", "two"),
    "executor: the last busy worker is cancelled too": (
        "sync/executor.hpp",
        "(guard_.options.enabled && !at_.may_cancel) || !(somebody_stays || w != no_worker)",
        "guard_.options.enabled && !at_.may_cancel",
        "any_answer", "two"),
    "executor: a grant names updates that are not in yet": (
        "sync/executor.hpp",
        "worker_record& r = workers_[worker];\n    r.granted.version = ledger_.version();",
        "worker_record& r = workers_[worker];\n    r.granted.version = ledger_.updates();",
        "ssp_1", "two"),
    "executor: a cancellation lasts beyond its step": (
        "sync/executor.hpp",
        "r.doomed = reason::none;\n    workers_.move_to(worker, worker_state::running);",
        "workers_.move_to(worker, worker_state::running);",
        "any_answer", "two"),
    "ledger: a round is flushed before its adds are in": (
        "sync/ledger.hpp",
        "return slots_[closing].out > 0 ? finished_round{} : finish(closing);",
        "return finish(closing);",
        "k_sync_2", "two"),
    "ledger: a failed add counts among those of the mean": (
        "sync/ledger.hpp",
        "++(succeeded ? s.adds : s.failures);",
        "++s.adds, static_cast<void>(succeeded);",
        "k_async_2", "two"),
    "admissions: a failed gradient is told to be pending": (
        "sync/admissions.hpp",
        "what.pending = succeeded && done.slot == ledger_.open_slot();",
        "what.pending = done.slot == ledger_.open_slot();",
        "k_async_2", "two"),
    "controller: the newer ticket of a repeat is lost": (
        "sync/controller.hpp",
        "if (tickets_[w].has_value()) {  // a repeat of this push brought a newer one",
        "if (false) {",
        "ssp_1", "two"),
    "controller: a commit is matched by its worker alone": (
        "sync/controller.hpp",
        "work.serial != out_[w].serial)",
        "out_[w].serial == 0)",
        "ssp_1", "two"),
    "controller: the clock of who joins is not clamped": (
        "sync/controller.hpp",
        "const clock_type fitting = std::clamp(own, lowest, saturating_add(lowest, this->bound()));",
        "const clock_type fitting = own;\n    static_cast<void>(lowest);",
        "ssp_1", "two"),
    "controller: staleness counts the updates that are in": (
        "sync/controller.hpp",
        "ledger_.updates() - (std::min)(push.read.lowest, r.granted.version)",
        "ledger_.version() - (std::min)(push.read.lowest, r.granted.version)",
        "ssp_1", "two"),
    "controller: the ticket of who goes stays": (
        "sync/controller.hpp",
        "give_back(workers_.id(worker), reason::departed_worker, tickets_[worker], sink);\n    workers_.depart(",
        "workers_.depart(",
        "bsp", "two"),
    "controller: who returns does not wait for its former life's commit": (
        "sync/controller.hpp",
        "if (out_[w].serial == 0) enter(w, sink);",
        "enter(w, sink);",
        "ssp_1", "two"),
    "controller: a switch does not re-base": (
        "sync/controller.hpp",
        "this->rebase(this->bound());\n    this->note({.what = record::kind::change_policy});",
        "this->note({.what = record::kind::change_policy});",
        "asp", "two"),
    "controller: after a load the policy is not asked": (
        "sync/controller.hpp",
        "at_.ask_on_poll = true;",
        "",
        "bsp", "two"),
    "controller: a pull of who is free to go starts no step": (
        "sync/controller.hpp",
        "if (workers_[worker].state == worker_state::released) this->start(worker, sink);",
        "static_cast<void>(sink);",
        "bsp", "entered"),
    "roster: what an excluded worker computes is kept": (
        "core/roster.hpp",
        "if (r.state == worker_state::running) doom(worker, reason::excluded);",
        "",
        "any_answer", "two"),
    "roster: who goes stays among the excluded": (
        "core/roster.hpp",
        "r.excluded = false;\n      --excluded_;\n      ++in_",
        "r.excluded = false;\n      ++in_",
        "any_answer", "two"),
    "roster: re-based steps that run may be one beyond the bound": (
        "core/roster.hpp",
        "return records_[w].state == worker_state::parked ? saturating_add(bound, 1) : bound;",
        "return saturating_add(bound, 1);",
        "asp", "two"),
    "bsp: the barrier does not wait for what is being added": (
        "sync/bsp.hpp",
        "return view.busy() > 0 ?",
        "return view.running() > 0 ?",
        "bsp", "two"),
    "ssp: one step more": (
        "sync/ssp.hpp",
        "view.clock_of_submitter() - view.minimum_clock() <= staleness ?",
        "view.clock_of_submitter() - view.minimum_clock() <= staleness + 1 ?",
        "ssp_1", "two"),
    "k_sync: an update waits for a dead worker": (
        "sync/rivals/fresh_gradients.hpp",
        "return view.updates() != view.version() && view.in_flight() > 0;",
        "return view.updates() != view.version();",
        "k_sync_2", "two"),
    "k_async: k does not follow the living": (
        "sync/rivals/k_async.hpp",
        "view.pending() >= (std::min)(k, view.alive())",
        "view.pending() >= k",
        "k_async_2", "two"),
    "aap: nobody is let go where nothing will come": (
        "sync/rivals/aap.hpp",
        "return view.busy() == 0 ? all_within_the_bound(view) : next_of_those_due(view);",
        "return next_of_those_due(view);",
        "aap_all", "two"),
}


def build(compiler, include, program):
    """Compiles the explorer of these headers; what the compiler says, where it fails."""
    done = subprocess.run(
        [compiler, "-std=c++20", "-O1", f"-I{include}", f"-I{ROOT / 'tests'}", "-o", str(program),
         str(ROOT / "tests/model/seeded.cpp")], capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def explore(program, rule, scope):
    """(problem, actions to it, states, seconds); the problem is None where there is none."""
    begin = time.monotonic()
    done = subprocess.run([str(program), "--rule", rule, "--scope", scope], capture_output=True, text=True, timeout=600)
    seconds = time.monotonic() - begin
    total = re.search(r"explorations?, (\d+) states", done.stdout)
    if total is None or done.returncode not in (0, 1):
        return f"the explorer ended with {done.returncode}: {done.stderr}", 0, 0, seconds
    broken = re.search(r"BROKEN: (.*), after (\d+) actions:", done.stdout)
    if broken is None:
        return None, 0, int(total[1]), seconds
    return broken[1], int(broken[2]), int(total[1]), seconds


def try_bug(compiler, folder, name):
    """The line of the table, and whether the bug was found."""
    header, text, bug, rule, scope = BUGS[name]
    include = folder / re.sub(r"\W+", "_", name)
    try:
        plant(ROOT, include, header, text, bug)
    except ValueError as problem:
        return f"{name}: {problem}", False
    program = include / "explorer"
    if trouble := build(compiler, include, program):
        return f"{name}: does not compile\n{trouble[:2000]}", False
    problem, length, states, seconds = explore(program, rule, scope)
    shutil.rmtree(include)
    where = f"{name:<67} {rule:<15} {scope:<8} {states:>8} {seconds:>6.1f}"
    if problem is None:
        return f"{where}  NOT FOUND", False
    if "fingerprint" in problem or "explorer ended" in problem:
        return f"{where}  NOT FOUND, but: {problem}", False
    return f"{where} {length:>7}  {problem}", True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="a part of its name")
    options = parser.parse_args()
    names = [b for b in BUGS if not options.bugs or any(part in b for part in options.bugs)]
    if not names:
        sys.exit(f"no bug has {' or '.join(options.bugs)} in its name")

    failed = 0
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        program = folder / "sound"
        if trouble := build(options.compiler, ROOT / "include", program):
            sys.exit(f"the explorer does not compile\n{trouble[:2000]}")
        for rule, scope in sorted({BUGS[each][3:] for each in names}):
            problem, _, states, seconds = explore(program, rule, scope)
            print(f"{'no bug':<67} {rule:<15} {scope:<8} {states:>8} {seconds:>6.1f} {problem or '':>7}", flush=True)
            failed += problem is not None
        print(f"{'bug':<67} {'rule':<15} {'scope':<8} {'states':>8} {'s':>6} {'actions':>7}  found as", flush=True)
        for line, found in pool.map(lambda each: try_bug(options.compiler, folder, each), names):
            print(line, flush=True)
            failed += not found
    print(f"{len(names)} bugs, {failed} not found or not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
