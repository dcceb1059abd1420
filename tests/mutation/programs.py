"""Test programs that have all mutants in them, and what becomes of a mutant there."""
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import resource
import signal
import subprocess
import threading
import time

import schemata

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES_A_UNIT = 8  # as CMake's unity builds
# A variable that a mutant leaves without a value has a bad one: else the compiler may take that of the original.
FLAGS = ["-std=c++20", "-g0", "-w", "-Wno-c++11-narrowing", "-ferror-limit=0", "-pthread",
         "-ftrivial-auto-var-init=pattern", "-fsanitize=bounds", "-fsanitize-trap=bounds", "-D_GLIBCXX_ASSERTIONS"]
# Of those that calculate: the others take longer to be compiled than to be run.
OPTIMISED = ("nn", "learned", "rl", "sim")
# Seconds of CPU time: tests between two of these are run together. Those that take longer are left out, so what only
# they would notice counts as surviving.
SLOWER = (0, 0.02, 0.2, 1, 5)
MEMORY = 4 << 30
SCALE = "0.05"


def say(text):
    print(text, flush=True)


class Build:
    """Test programs with all mutants in them; of those that were built before, only what has changed."""

    def __init__(self, folder, edits, jobs):
        self.folder, self.edits, self.jobs = folder, edits, jobs
        self.headers = hashlib.sha256(" ".join(FLAGS).encode())
        for path in [folder / "switch.hpp", *sorted(p for p in (folder / "include").rglob("*") if p.is_file())]:
            self.headers.update(path.read_bytes())
        # Those that do not compile, as far as is known.
        self.record = folder / "broken"
        known = self.record.read_text().split() if self.record.exists() else []
        self.broken = {int(n) for n in known[1:]} if known[:1] == [self.headers.hexdigest()] else set()
        self.take_out()

    def take_out(self):
        """The mutants that do not compile, out of the headers."""
        self.record.write_text(" ".join([self.headers.hexdigest(), *map(str, sorted(self.broken))]))
        for file in self.edits:
            self.edits[file] = [e for e in self.edits[file] if e.number not in self.broken]
        schemata.write_headers(ROOT, self.folder, self.edits)

    def units(self, program):
        sources = sorted((ROOT / "tests" / program).rglob("*_test.cpp"))
        units = {self.folder / "main.cpp": []}
        for at in range(0, len(sources), FILES_A_UNIT):
            unit = self.folder / f"{program}_{at // FILES_A_UNIT}.cpp"
            units[unit] = sources[at:at + FILES_A_UNIT]
            text = "".join(f'#include "{s}"\n' for s in units[unit])
            if not unit.exists() or unit.read_text() != text:
                unit.write_text(text)
        return units

    @staticmethod
    def optimisation(unit):
        return "-O1" if unit.stem.split("_")[0] in OPTIMISED else "-O0"

    def command(self, source, *more):
        return ["clang++", *FLAGS, *more, "-include", str(self.folder / "switch.hpp"), f"-I{self.folder / 'include'}",
                f"-I{ROOT / 'tests'}", f'-DRUBATO_SOURCE_DIR="{ROOT}"', str(source)]

    def state_of(self, program, unit, sources):
        """Changes whenever a unit has to be compiled again."""
        state = self.headers.copy()
        state.update(self.optimisation(unit).encode())
        state.update(unit.read_bytes())
        shared = [p for folder in (program, "support") for p in (ROOT / "tests" / folder).rglob("*.hpp")]
        for path in [*sources, *(sorted(shared) if sources else [])]:
            state.update(path.read_bytes())
        return state.hexdigest()

    def state(self, program):
        """Of what its tests can notice."""
        states = [self.state_of(program, u, sources) for u, sources in self.units(program).items() if sources]
        return hashlib.sha256(" ".join(states).encode()).hexdigest()

    def compile_unit(self, unit, state):
        """The mutants that do not compile; without any, the unit is there."""
        stamp = unit.with_suffix(".state")
        if stamp.exists() and stamp.read_text() == state:
            return set()
        command = self.command(unit, self.optimisation(unit), "-c", "-o", str(unit.with_suffix(".o")))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            stamp.write_text(state)
            return set()
        found = schemata.numbers_in(self.folder / "include", done.stderr) - self.broken
        if not found:
            raise SystemExit(done.stderr[:4000])
        unit.with_suffix(".errors").write_text(done.stderr)
        return found

    def compile(self, program):
        """A program, without the mutants that do not compile."""
        begin, units = time.time(), self.units(program)
        states = {u: self.state_of(program, u, sources) for u, sources in units.items()}
        record, state = self.folder / f"{program}.state", " ".join(states.values())
        if record.exists() and record.read_text() == state:
            return
        while True:
            with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
                found = set().union(*pool.map(self.compile_unit, states.keys(), states.values()))
            if not found:
                break
            self.broken |= found
            self.take_out()
        objects = [str(u.with_suffix(".o")) for u in states]
        subprocess.run(["clang++", *objects, "-lgtest", "-pthread", "-o", str(self.folder / program)], check=True)
        record.write_text(state)
        say(f"compiled {program} in {time.time() - begin:.0f} s")


def run_tests(program, mutant, names, seconds, **more):
    """The exit status, and what was printed. The status is "time" after more seconds of CPU time, or if it hangs."""
    environment = {**os.environ, "RUBATO_MUTANT": str(mutant), "RUBATO_TEST_SCALE": SCALE, **more}
    listed = ":".join(names) if names is not None else "*"
    command = [str(program), "--gtest_brief=1", "--gtest_filter=" + (listed if len(listed) < 100_000 else "*")]
    if mutant != 0:
        command.append("--gtest_fail_fast")

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))

    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", preexec_fn=limited, start_new_session=True, cwd=program.parent)
    try:
        output, _ = child.communicate(timeout=60 + 10 * seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return "time", ""
    return "time" if child.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else child.returncode, output


class Suite:
    """A test program, and which of its tests reach which mutant."""

    def __init__(self, folder, name, state, jobs):
        self.program, self.name, self.state = folder / name, name, state
        self.tests, self.seconds = collections.defaultdict(list), {}
        record = folder / f"{name}.reached"
        if not self.is_known(folder, name, state):
            shards = [folder / f"{name}.reached_{shard}" for shard in range(jobs)]
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                list(pool.map(self.run_shard, range(jobs), itertools.repeat(jobs), shards))
            record.write_text("\n".join([state, *(s.read_text().strip("\n") for s in shards)]) + "\n")
        for line in filter(None, record.read_text().splitlines()[1:]):
            test, seconds, *numbers = line.split()
            self.seconds[test] = float(seconds)
            for number in numbers:
                self.tests[int(number)].append(test)
        say(f"{name}: {len(self.seconds)} tests, {sum(self.seconds.values()):.1f} s")

    @staticmethod
    def is_known(folder, name, state):
        record = folder / f"{name}.reached"
        return record.exists() and record.read_text().split("\n", 1)[0] == state

    def run_shard(self, number, of, record):
        status, output = run_tests(self.program, 0, None, 1200, RUBATO_REACHED=str(record),
                                   GTEST_SHARD_INDEX=str(number), GTEST_TOTAL_SHARDS=str(of))
        if status != 0:
            raise SystemExit(f"{self.name}: fails without a mutant\n{output[-3000:]}")

    def judge(self, number, first=None):
        """How the mutant dies here; None if it does not. A test that is to be `first` is run alone."""
        tests = sorted(self.tests[number], key=lambda t: self.seconds[t])
        # The quick ones before the others: most mutants die there.
        for names in ([t for t in tests if t == first], *([t for t in tests if low <= self.seconds[t] < high]
                                                          for low, high in itertools.pairwise(SLOWER))):
            if not names:
                continue
            status, output = run_tests(self.program, number, names, 2 + 10 * sum(self.seconds[t] for t in names))
            if status == "time":
                return "time"
            if status != 0:
                failed = [line.split()[3] for line in output.splitlines() if line.startswith("[  FAILED  ] ") and
                          len(line.split()) > 3 and "." in line.split()[3]]
                return failed[0].rstrip(",") if failed else "crash"
        return None


class Results:
    """What became of mutants, kept in a file as soon as it is known, so that a run that was stopped can be continued.

    It holds as long as the program is the same. In one that has changed, the test that killed a mutant is the first to
    be run again.
    """

    def __init__(self, path):
        self.path, self.lock, self.known = path, threading.Lock(), {}
        if path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self.known[(entry["mutant"], entry["program"])] = entry

    def killer(self, mutant, states):
        """The program and the test that killed it, of programs in these states; "" if none has."""
        for program, state in states.items():
            entry = self.known.get((mutant, program))
            if entry is not None and entry["state"] == state and entry["by"]:
                return f"{program}: {entry['by']}"
        return ""

    def has(self, mutant, suite, number):
        entry = self.known.get((mutant, suite.name))
        return number not in suite.tests or entry is not None and entry["state"] == suite.state

    def judge(self, mutant, number, suite):
        entry = self.known.get((mutant, suite.name))
        if entry is not None and entry["state"] == suite.state:
            return
        by = suite.judge(number, entry["by"] if entry is not None else None) or ""
        entry = {"mutant": mutant, "program": suite.name, "state": suite.state, "by": by}
        with self.lock, self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
            self.known[(mutant, suite.name)] = entry
