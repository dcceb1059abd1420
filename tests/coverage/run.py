#!/usr/bin/python3
"""Which lines and branches of include/ the tests run, and which public templates they instantiate.

Builds the test programs below with preset `coverage` (GCC, -O0, preconditions checked), runs them, and reads what gcov
says: lines through gcovr, branches itself, see branches_of(). A header that has code and that gcov does not know counts
with all its lines, none of them run. Prints the figures of each folder, and the table of docs/testing.md.

Branches are counted where the source has one: not those of exceptions, of which GCC puts one at each call that may
throw and more where objects end; nor those of RUBATO_ASSERT, of which one ends the program; nor in the fused kernels,
which are unrolled at every optimisation. A function that is inlined has its branches at each place that calls it, so
that the preset turns [[gnu::always_inline]] into noinline; kernels, which must be inlined, spell it with underscores.
Its counters are atomic: some tests have threads, whose counts would be lost, or come out negative.
Apart, and in neither figure, stand the kernels of instruction sets that this machine lacks and the headers that only
nvcc can compile.

usage: run.py [--build DIRECTORY] [--report-only] [--uncovered FOLDER]
  --report-only  of what was built and run before
  --uncovered    also the lines below this folder of include/rubato that no test runs
Exit status 1: under 95 % of lines or 85 % of branches, or a public template that no test instantiates.
Needs gcovr and python3-clang-14 of Debian 12.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

import templates

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("core", "sync", "extras", "nn", "encode", "io", "learned", "rl", "sim", "adapt", "cuda", "properties")
LEAST_LINES, LEAST_BRANCHES = 95.0, 85.0
SCALE = "0.05"
# The table of docs/testing.md: names of rows, and the folders whose sums they have. `all` has headers of none, too.
ROWS = (("`core/`", ("core",)), ("`sync/` with `extras/` and `rivals/`", ("sync", "sync/extras", "sync/rivals")),
        ("`nn/`", ("nn",)), ("`encode/`, `io/`, `learned/`", ("encode", "io", "learned")),
        ("`rl/`, `sim/`, `adapt/`", ("rl", "sim", "adapt")), ("`cuda/`, as a processor runs it", ("cuda",)),
        ("all", ("all",)))
ONLY_WITH = {"avx512": ("avx512f",)}  # stem of a kernel header -> flags of /proc/cpuinfo that it needs
# The compiler unrolls these whatever the options: what is left are no branches of the source.
UNROLLED = re.compile(r"rubato/nn/kernels/(training/)?(fused_\w+|fma|avx512)\.hpp")
MOST_BRANCHES = 20  # of a line of code
BRANCH = re.compile(r"\b(if|for|while|switch|case|default|do)\b|\?|&&|\|\|")
# Between a function's parameters and its body: qualifiers, the type that it returns, a constraint without parentheses.
BEHIND_PARAMETERS = re.compile(
    r"(\s|\b(const|noexcept|override|final|mutable)\b|&|->[^(){};]*|\brequires\b[^(){};]*)+$")
NEEDS_NVCC = re.compile(r"<<<|__global__|#include <cuda|__CUDACC__|cooperative_groups|mma\.h")


def has_code(text):
    """Whether a header says anything that could be run: a body behind parentheses, but for those of requires."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*#(\\\n|[^\n])*", "", text, flags=re.M)
    if re.search(r"\breturn\b|\)\s*(noexcept\s*)?:\s*\w+\s*[({]", text):  # the latter: a constructor's members
        return True
    return any(begins_body(text[:brace.start()]) for brace in re.finditer(r"\{", text))


def begins_body(before):
    """Whether what stands before a brace ends a function's head, or a statement's."""
    while True:
        before = BEHIND_PARAMETERS.sub("", before).rstrip()
        if not before.endswith(")"):
            return False
        depth, at = 1, len(before) - 1
        while depth > 0 and at > 0:
            at -= 1
            depth += {")": 1, "(": -1}.get(before[at], 0)
        before = before[:at].rstrip()
        word = re.search(r"\b(requires|noexcept)$", before)
        if word is None:
            return True
        before = before[:word.start()]


def lines_of_code(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return sum(1 for line in text.split("\n") if re.search(r"[;)]", line) and not line.lstrip().startswith("#"))


def build_and_run(folder):
    targets = [f"test_{p}" for p in PROGRAMS]
    begin = time.time()
    subprocess.run(["cmake", "--preset", "coverage", "-S", str(ROOT), "-B", str(folder),
                    "-DRUBATO_BUILD_INTEGRATIONS=OFF", "-DRUBATO_BUILD_LAB=OFF", "-DRUBATO_BUILD_EXAMPLES=OFF"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(folder), "-j", str(os.cpu_count()), "--target", *targets], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    print(f"built in {time.time() - begin:.0f} s", flush=True)
    for stale in folder.rglob("*.gcda"):
        stale.unlink()
    for target in targets:
        begin = time.time()
        done = subprocess.run([str(folder / "bin" / target), "--gtest_brief=1"], cwd=folder, capture_output=True,
                              text=True, env={"RUBATO_TEST_SCALE": SCALE, "PATH": "/usr/bin:/bin"})
        print(f"{target}: {time.time() - begin:.0f} s{'' if done.returncode == 0 else ', FAILED'}", flush=True)
        if done.returncode != 0:
            raise SystemExit(done.stdout[-3000:] + done.stderr[-1000:])


def lines_of(folder):
    """file below include/ -> {line: times that it was run}, as gcovr has it, whose own figures are printed"""
    report, summary = folder / "coverage.json", folder / "summary.json"
    subprocess.run(["gcovr", "-r", str(ROOT), "--object-directory", str(folder), "--filter", f"{ROOT / 'include'}/",
                    "--exclude-throw-branches", "--json", str(report), "--json-summary", str(summary), str(folder)],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    own = json.loads(summary.read_text())
    print(f"gcovr itself, each instance apart: {own['line_covered']} of {own['line_total']} lines, "
          f"{own['line_percent']} %; {own['branch_covered']} of {own['branch_total']} branches, "
          f"{own['branch_percent']} %", flush=True)
    found = {}
    for file in json.loads(report.read_text())["files"]:
        lines = found.setdefault(file["file"].removeprefix("include/"), {})
        for line in file["lines"]:
            if not line.get("gcovr/noncode"):
                lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    return found


def branches_of(folder):
    """file below include/ -> {line: times that each of its branches was taken}

    gcovr counts those of each instance of a template, and of each place that a function is inlined into, apart: one of
    forty instances would have forty times its branches. Here instances that have as many branches on a line are one,
    and a branch of it is taken where any of them takes it. Those that have more or fewer, since a type decides what is
    there, count apart. Of a lambda within a template gcov does not keep the instances apart: see folded().
    """
    copies = collections.defaultdict(dict)
    for data in sorted(folder.rglob("*.gcda")):
        text = subprocess.run(["gcov", "-t", "-j", "-b", str(data)], cwd=folder, capture_output=True, text=True,
                              check=True).stdout
        for file in json.loads(text)["files"]:
            if not file["file"].startswith(f"{ROOT / 'include'}/"):
                continue
            name = os.path.relpath(os.path.normpath(file["file"]), ROOT / "include")
            for line in file["lines"]:
                counts = without_throws(line["branches"])
                alike = copies[(name, line["line_number"])].setdefault(len(counts), [0] * len(counts))
                alike[:] = map(sum, zip(alike, counts))
    found = collections.defaultdict(dict)
    for (name, line), by_length in copies.items():
        found[name][line] = [count for counts in folded(by_length) for count in counts]
    return found


def folded(by_length):
    """The counts of the instances of a line, where those of more branches than any line has are several instances, one
    after another: of as many branches each as divides what every translation unit found on that line."""
    one, instances = math.gcd(*by_length), collections.defaultdict(collections.Counter)
    for length, counts in by_length.items():
        size = one if length > MOST_BRANCHES else length
        for at, count in enumerate(counts):
            instances[size][at % size] += count
    return [[instances[size][at] for at in range(size)] for size in sorted(instances)]


def without_throws(branches):
    """The counts of those that are no way out of a call: to its handler, or to what follows it."""
    counts = []
    for branch in branches:
        if not branch["throw"]:
            counts.append(branch["count"])
        elif counts:
            counts.pop()
    return counts


def measured(folder):
    """file below include/ -> (lines, lines run, branches, branches taken, lines that were not run)"""
    found, branches = {}, branches_of(folder)
    for name, lines in lines_of(folder).items():
        text = (ROOT / "include" / name).read_text().split("\n")
        written = {n for n, line in enumerate(text, 1) if BRANCH.search(line) and "RUBATO_ASSERT" not in line}
        if UNROLLED.match(name):
            written = set()
        taken = [count for line, counts in branches[name].items() if line in written for count in counts]
        found[name] = (len(lines), sum(c > 0 for c in lines.values()), len(taken), sum(c > 0 for c in taken),
                       sorted(n for n, c in lines.items() if c == 0))
    return found


def share(part, whole):
    return 100.0 * part / whole if whole else 100.0


def table(sums):
    """That of docs/testing.md. `sums`: folder -> lines, lines run, branches, branches taken."""
    known = {folder for _, folders in ROWS for folder in folders} | {"."}
    if unknown := sorted(set(sums) - known):
        raise SystemExit(f"in no row of the table: {', '.join(unknown)}")
    lines = ["| | lines | of them run | branches | of them taken |", "| --- | --- | --- | --- | --- |"]
    for name, folders in ROWS:
        found, run, branches, taken = map(sum, zip((0, 0, 0, 0), *(sums[f] for f in folders if f in sums)))
        lines.append(f"| {name} | {found:,} | {share(run, found):.1f} % | {branches:,} | "
                     f"{share(taken, branches):.1f} % |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--uncovered")
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    folder = options.build.resolve()
    if not options.report_only:
        build_and_run(folder)
    found = measured(folder)

    flags = set(re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text() + "flags :", re.M)[1].split())
    apart, nothing, silent = [], [], []
    for header in sorted((ROOT / "include").rglob("*.*h*")):
        name = header.relative_to(ROOT / "include").as_posix()
        text = header.read_text()
        if "kernels" in header.parts and header.stem in ONLY_WITH and not flags.issuperset(ONLY_WITH[header.stem]):
            apart.append(f"{name} (this processor has no {header.stem})")
            found.pop(name, None)
        elif name in found:
            continue
        elif header.suffix == ".cuh" and NEEDS_NVCC.search(text):
            apart.append(f"{name} (for nvcc: tests/cuda/device)")
        elif has_code(text):
            found[name] = (lines_of_code(text), 0, 0, 0, [])
            nothing.append(name)
        else:
            silent.append(name)

    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for name, figures in found.items():
        folder_name = "/".join(name.split("/")[1:-1]) or "."
        top = folder_name.split("/")[0] if not folder_name.startswith("sync/") else folder_name
        for key in (top, "all"):
            for i in range(4):
                sums[key][i] += figures[i]
    print(f"{'folder':14} {'lines':>6} {'run':>6} {'%':>6} {'branches':>9} {'taken':>6} {'%':>6}")
    for key in sorted(k for k in sums if k != "all") + ["all"]:
        lines, run, branches, taken = sums[key]
        print(f"{key:14} {lines:6} {run:6} {share(run, lines):6.1f} {branches:9} {taken:6} "
              f"{share(taken, branches):6.1f}")
    for name in nothing:
        print(f"no line run: {name} ({found[name][0]} lines)")
    for name in apart:
        print(f"apart: {name}")
    print(f"without code: {len(silent)} headers")
    print(f"\n{table(sums)}\n")
    if options.uncovered is not None:
        for name in sorted(found):
            if name.startswith("rubato/" + options.uncovered) and found[name][4]:
                print(f"{name}: {', '.join(map(str, found[name][4]))}")

    built = [folder / "bin" / f"test_{p}" for p in PROGRAMS]
    missing = templates.without_instance(ROOT, [p for p in built if p.exists()])
    for name in missing:
        print(f"no test instantiates {name}")
    lines, run, branches, taken = sums["all"]
    ok = share(run, lines) >= LEAST_LINES and share(taken, branches) >= LEAST_BRANCHES and not missing
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
