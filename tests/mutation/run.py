#!/usr/bin/python3
"""Mutation testing: breaks the headers on purpose, one change at a time, and looks whether a test fails.

All mutants are compiled into the tests at once, each behind a switch (schemata.py); then the tests that reach a mutant
are run with it on, the quickest first, until one fails, crashes, or takes ten times as long as it should. A mutant
whose tests all pass has survived: a promise is untested, or the mutant is the same program.

usage: run.py [--bugs] [--sample N --seed S] [--only FOLDER...] [--build DIRECTORY]
  --bugs         the hand-listed bugs of bugs.py
  --sample N     N mutants of one operator each in core/, sync/ and nn/, drawn with the seed (1), as many from each
                 folder as its share of the places
  --only         none but the mutants in these folders of include/rubato
  --build        where headers and programs are written (build/mutation)
Exit status 1: a hand-listed bug survived, or more than a tenth of the sample. Needs clang, and python3-clang-14 of
Debian 12.
"""
import argparse
import collections
import hashlib
import os
import pathlib
import random
import resource
import subprocess
import sys
import time

import bugs
import places
import schemata

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLED = ("core", "sync", "nn")
# folder of include/rubato -> test programs that may notice a mutant in it, the nearest first
NOTICED_BY = {
    "core": ("core", "sync", "extras", "nn", "properties"),
    "sync": ("sync", "extras", "core", "properties"),
    "nn": ("nn", "core"),
    "encode": ("encode", "learned", "properties"),
    "io": ("io", "learned"),
    "learned": ("learned", "properties"),
    "rl": ("rl",),
    "sim": ("sim",),
    "": ("core", "sync", "nn"),
}
FILES_A_UNIT = 8  # as CMake's unity builds
# A variable that a mutant leaves without a value has a bad one: else the compiler may take that of the original.
FLAGS = ["-std=c++20", "-O1", "-g0", "-w", "-Wno-c++11-narrowing", "-ferror-limit=0", "-pthread",
         "-ftrivial-auto-var-init=pattern"]
MEMORY = 6 << 30
SCALE = "0.05"


def say(text):
    print(text, flush=True)


class Trial:
    """One mutant: number, where it is, what it changes, who suffers, and what became of it."""

    def __init__(self, number, file, line, what, suffers=""):
        self.number, self.file, self.line, self.what, self.suffers = number, file, line, what, suffers
        self.verdict, self.by = "", ""

    @property
    def folder(self):
        parts = self.file.split("/")
        return parts[1] if len(parts) > 2 else ""


def sample_of(mutants, count, seed):
    """`count` mutants in the order in which they were drawn, then those that stand in where one does not compile."""
    by_place = collections.defaultdict(list)
    for m in mutants:
        by_place[(m.file, m.begin, m.end)].append(m)
    by_folder = collections.defaultdict(list)
    for place in sorted(by_place):
        by_folder[place[0].split("/")[1]].append(place)
    total = sum(len(p) for p in by_folder.values())
    drawn, spare = [], []
    for folder in SAMPLED:
        random_numbers = random.Random(f"{seed} {folder}")
        all_places = by_folder[folder]
        random_numbers.shuffle(all_places)
        share = round(count * len(all_places) / total)
        chosen = [random_numbers.choice(by_place[p]) for p in all_places[:share + share // 4 + 4]]
        drawn += chosen[:share]
        spare.append(chosen[share:])
    return drawn, [m for folder in spare for m in folder], {f: len(p) for f, p in by_folder.items()}


class Build:
    def __init__(self, folder):
        self.folder = folder
        self.headers = hashlib.sha256(" ".join(FLAGS).encode())
        for path in [folder / "switch.hpp", *sorted(p for p in (folder / "include").rglob("*") if p.is_file())]:
            self.headers.update(path.read_bytes())

    def units(self, program):
        sources = sorted(str(p) for p in (ROOT / "tests" / program).rglob("*_test.cpp"))
        units = []
        for at in range(0, len(sources), FILES_A_UNIT):
            unit = self.folder / f"{program}_{at // FILES_A_UNIT}.cpp"
            unit.write_text("".join(f'#include "{s}"\n' for s in sources[at:at + FILES_A_UNIT]))
            units.append(unit)
        return units

    def command(self, source, *more):
        return ["clang++", *FLAGS, "-include", str(self.folder / "switch.hpp"), f"-I{self.folder / 'include'}",
                f"-I{ROOT / 'tests'}", f'-DRUBATO_SOURCE_DIR="{ROOT}"', *more, str(source)]

    def state_of(self, program):
        """Changes whenever a program has to be compiled again."""
        state = self.headers.copy()
        for folder in (ROOT / "tests" / program, ROOT / "tests" / "support"):
            for path in sorted(p for p in folder.rglob("*") if p.is_file()):
                state.update(path.read_bytes())
        return state.hexdigest()

    def compile(self, program, edits):
        """Compiles a program, and returns the mutants that do not compile, which are taken out of the headers."""
        record = self.folder / f"{program}.state"
        state = self.state_of(program)
        if record.exists() and record.read_text().split()[:1] == [state]:
            return {int(n) for n in record.read_text().split()[1:]}
        begin, objects, broken = time.time(), [], set()
        for unit in [*self.units(program), self.folder / "main.cpp"]:
            objects.append(str(unit.with_suffix(".o")))
            while (done := subprocess.run(self.command(unit, "-c", "-o", objects[-1]), capture_output=True,
                                          text=True)).returncode != 0:
                found = schemata.numbers_in(self.folder / "include", done.stderr) - broken
                if not found:
                    raise SystemExit(done.stderr[:4000])
                broken |= found
                (self.folder / f"{unit.stem}.errors").write_text(done.stderr)
                for file in edits:
                    edits[file] = [e for e in edits[file] if e.number not in broken]
                schemata.write_headers(ROOT, self.folder, edits)
        subprocess.run(["clang++", *objects, "-lgtest", "-pthread", "-o", str(self.folder / program)], check=True)
        record.write_text(" ".join([state, *map(str, sorted(broken))]))
        say(f"compiled {program} in {time.time() - begin:.0f} s")
        return broken


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_tests(program, mutant, names, limit, reached=None):
    """The exit status, or "time"."""
    environment = {**os.environ, "RUBATO_MUTANT": str(mutant), "RUBATO_TEST_SCALE": SCALE}
    if reached is not None:
        environment["RUBATO_REACHED"] = str(reached)
    listed = ":".join(names) if names is not None else "*"
    command = [str(program), "--gtest_brief=1", "--gtest_filter=" + (listed if len(listed) < 100_000 else "*")]
    if mutant != 0:
        command.append("--gtest_fail_fast")
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", preexec_fn=limited, start_new_session=True, cwd=program.parent)
    try:
        output, _ = child.communicate(timeout=limit)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.communicate()
        return "time", ""


class Suite:
    """A test program, and which of its tests reach which mutant."""

    def __init__(self, folder, name):
        self.program = folder / name
        self.name = name
        self.tests = collections.defaultdict(list)
        self.seconds = {}
        record = folder / f"{name}.reached"
        status, output = run_tests(self.program, 0, None, 1200, record)
        if status != 0:
            raise SystemExit(f"{name}: fails without a mutant\n{output[-3000:]}")
        for line in record.read_text().splitlines():
            test, milliseconds, *numbers = line.split()
            self.seconds[test] = int(milliseconds) / 1000
            for number in numbers:
                self.tests[int(number)].append(test)
        say(f"{name}: {len(self.seconds)} tests, {sum(self.seconds.values()):.1f} s")

    def judge(self, number):
        """How the mutant dies here; None if it does not."""
        tests = sorted(self.tests[number], key=lambda t: self.seconds[t])
        # The quick ones first: most mutants die there.
        for names in ([t for t in tests if self.seconds[t] < 0.1], [t for t in tests if self.seconds[t] >= 0.1]):
            if not names:
                continue
            status, output = run_tests(self.program, number, names, 20 + 10 * sum(self.seconds[t] for t in names))
            if status == "time":
                return "time"
            if status != 0:
                failed = [line.split()[3] for line in output.splitlines() if line.startswith("[  FAILED  ] ") and
                          len(line.split()) > 3 and "." in line.split()[3]]
                return failed[0].rstrip(",") if failed else "crash"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", metavar="FOLDER")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutation")
    options = parser.parse_args()
    if not options.bugs and options.sample == 0:
        parser.error("nothing to do: --bugs, --sample, or both")
    options.build.mkdir(parents=True, exist_ok=True)
    folder = options.build.resolve()

    trials, edits = [], collections.defaultdict(list)
    if options.bugs:
        for entry in bugs.BUGS:
            number = len(trials) + 1
            begin, end, line = bugs.place_of(ROOT, entry)
            trials.append(Trial(number, entry.file, line, f"{places.flat(entry.old)} -> {places.flat(entry.new)}",
                                entry.suffers))
            edits[entry.file].append(schemata.Edit(number, begin, end, bugs.text_of(entry), bugs.is_block(entry)))
    listed = len(trials)

    wanted, shares = [], {}
    if options.sample > 0:
        mutants = places.places(ROOT, SAMPLED)
        drawn, spare, shares = sample_of(mutants, options.sample, options.seed)
        say(f"{len(mutants)} mutants at {sum(shares.values())} places: " +
            ", ".join(f"{f}/ {n}" for f, n in shares.items()))
        for m in drawn + spare:
            number = len(trials) + 1
            trials.append(Trial(number, m.file, m.line, f"{m.what}   in   {places.flat(m.text)}"))
            edits[m.file].append(schemata.Edit(number, m.begin, m.end, m.text, False))
            wanted.append(number)

    folders = {t.folder for t in trials if options.only is None or t.folder in options.only}
    programs = [p for p in ("core", "sync", "extras", "nn", "encode", "io", "learned", "rl", "sim", "properties")
                if any(p in NOTICED_BY[f] for f in folders)]
    dropped = schemata.write(ROOT, folder, edits, len(trials))
    build = Build(folder)
    for program in programs:
        dropped |= build.compile(program, edits)
    for t in trials:
        if t.number in dropped:
            say(f"does not compile: {t.file}:{t.line}: {t.what}")
    chosen = set(range(1, listed + 1))
    for name in shares:
        mine = [n for n in wanted if trials[n - 1].folder == name and n not in dropped]
        chosen |= set(mine[:round(options.sample * shares[name] / sum(shares.values()))])
    chosen = {n for n in chosen if trials[n - 1].folder in folders}
    suites = {p: Suite(folder, p) for p in programs}

    begin = time.time()
    for t in (t for t in trials if t.number in chosen):
        t.verdict = "survived"
        if t.number in dropped:  # of the hand-listed ones
            t.verdict = "no bug"
            continue
        if not any(t.number in s.tests for s in suites.values()):
            t.verdict = "not reached"
        for p in NOTICED_BY[t.folder]:
            how = suites[p].judge(t.number)
            if how is not None:
                t.verdict, t.by = "killed", f"{p}: {how}"
                break
        say(f"{t.number:4} {t.verdict:11} {t.file}:{t.line}: {t.what}" + (f"   by {t.by}" if t.by else ""))
    say(f"{len(chosen)} mutants in {time.time() - begin:.0f} s")

    failed = False
    for title, part, least in (("hand-listed bugs", [t for t in trials[:listed] if t.number in chosen], 1.0),
                               ("sampled mutants", [t for t in trials[listed:] if t.number in chosen], 0.9)):
        if not part:
            continue
        for name in sorted({t.folder for t in part}):
            here = [t for t in part if t.folder == name]
            say(f"{title}, {name or 'top'}: {sum(t.verdict == 'killed' for t in here)} of {len(here)} killed")
        killed = sum(t.verdict == "killed" for t in part)
        say(f"{title}: {killed} of {len(part)} killed, {100 * killed / len(part):.1f} %")
        for t in part:
            if t.verdict != "killed":
                say(f"  {t.verdict}: {t.file}:{t.line}: {t.what}" + (f"   ({t.suffers})" if t.suffers else ""))
        failed = failed or killed < least * len(part)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
