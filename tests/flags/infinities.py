#!/usr/bin/env python3
"""The headers refuse the compilers, and no others, that lose infinities under -ffast-math: where clang takes it for granted
that no function is given or returns one. With -fno-finite-math-only after it none is refused, and nothing is lost.

Tries COMPILER, and each clang++-NN that is installed. With --refusals, what tests/flags/refusals.cpp asks for is also
asked of those that are refused otherwise: some minutes each.

Usage: infinities.py [--refusals GOOGLETEST] SOURCE_DIR COMPILER          Exit: 0 fine, 1 not, 77 where no
compiler here loses any.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REFUSED = "rubato needs infinities, which this clang breaks: give -fno-finite-math-only"
FAST = [["-ffast-math"], ["-Ofast"], ["-ffinite-math-only"]]
REPAIRED = ["-ffast-math", "-fno-finite-math-only"]
# A deadline that is none comes from a function of another unit, and goes to one.
LIBRARY = """
#include <limits>
double deadline(int which) { return which > 9 ? 9.0 : std::numeric_limits<double>::infinity(); }
bool never(double deadline) { return deadline > 1e300; }
"""
PROGRAM = """
double deadline(int which);
bool never(double deadline);
int main(int arguments, char**) { return never(deadline(arguments)) && deadline(arguments) > 1e300 ? 0 : 1; }
"""
HEADERS = """
#include <rubato/sync/controller.hpp>
#include <rubato/sync/ssp.hpp>
bool ends(const rubato::controller<rubato::ssp, int>& sync) { return sync.next_deadline() < 1; }
"""
TESTS = ["StrangeInputsAreRefused", "OptionsThatAreNoNumbersAreRefused", "UnitsAreAskedTheSame",
         "ForgedStatesAreRefusedAlike"]


def compilers(given):
    """The compiler that is given, and all versions of clang there are."""
    found = {name for folder in os.environ["PATH"].split(os.pathsep) if pathlib.Path(folder).is_dir()
             for name in os.listdir(folder) if re.fullmatch(r"clang\+\+-\d+", name)}
    return [given, *sorted(found)]


def takes_for_granted(compiler, flags):
    """Whether the compiler marks what functions return as not infinite."""
    if "clang" not in subprocess.run([compiler, "--version"], check=True, text=True, capture_output=True).stdout:
        return False
    run = subprocess.run([compiler, "-std=c++20", "-w", "-O1", *flags, "-S", "-emit-llvm", "-xc++", "-", "-o", "-"],
                         input=LIBRARY, check=True, text=True, capture_output=True)
    return re.search(r"nofpclass\([^)]*\binf\b", run.stdout) is not None


def problem(compiler, include, flags, folder):
    """What is wrong about the headers with these flags; None if nothing is."""
    lost = takes_for_granted(compiler, flags)
    run = subprocess.run([compiler, "-std=c++20", "-w", *flags, f"-I{include}", "-fsyntax-only", "-xc++", "-"],
                         input=HEADERS, text=True, capture_output=True, check=False)
    if lost:
        return None if REFUSED in run.stderr else f"infinities are lost, and not refused: {run.stderr}"
    if run.returncode != 0:
        return f"refused: {run.stderr}"
    made = []
    for name, text in (("library", LIBRARY), ("program", PROGRAM)):
        made.append(f"{folder}/{name}.o")
        subprocess.run([compiler, "-std=c++20", "-w", "-O2", *flags, "-c", "-xc++", "-", "-o", made[-1]], input=text,
                       text=True, check=True)
    subprocess.run([compiler, *made, "-o", f"{folder}/program"], check=True)
    return None if subprocess.run([f"{folder}/program"], check=False).returncode == 0 else "infinities are lost"


def refusals_problem(compiler, source, googletest, folder):
    """What is wrong about what is refused with -ffast-math -fno-finite-math-only; None if nothing is."""
    made = []

    def compiled(path, *flags):
        made.append(f"{folder}/unit{len(made)}.o")
        subprocess.run([compiler, "-std=c++20", "-w", *flags, f"-I{source}/include", f"-I{source}/tests",
                        f"-I{googletest}/include", f"-I{googletest}", f'-DRUBATO_SOURCE_DIR="{source}"', "-c", str(path),
                        "-o", made[-1]], check=True)

    for unit, flags in (("plain", ["-O1"]), ("repaired", ["-O1", *REPAIRED])):
        compiled(f"{source}/tests/flags/refusals.cpp", *flags, f"-DRUBATO_FLAGS_UNIT={unit}",
                 f'-DRUBATO_FLAGS="{" ".join(flags)}"')
    compiled(f"{source}/tests/flags/flags_test.cpp")
    for name in ("gtest-all.cc", "gtest_main.cc"):
        compiled(f"{googletest}/src/{name}")
    subprocess.run([compiler, *made, "-pthread", "-o", f"{folder}/refusals"], check=True)
    run = subprocess.run([f"{folder}/refusals", "--gtest_brief=1", f"--gtest_filter=Flags.{':Flags.'.join(TESTS)}"], text=True,
                         capture_output=True, check=False)
    return None if run.returncode == 0 and f"[  PASSED  ] {len(TESTS)} tests." in run.stdout else run.stdout


def main():
    given = sys.argv[1:]
    googletest = None
    if given[:1] == ["--refusals"]:
        googletest, given = given[1], given[2:]
    source, compiler = given
    failed = loses = False
    with tempfile.TemporaryDirectory() as folder:
        for each in compilers(compiler):
            found = {" ".join(flags): problem(each, f"{source}/include", flags, folder) for flags in [*FAST, REPAIRED]}
            refused = [" ".join(flags) for flags in FAST if takes_for_granted(each, flags)]
            print(f"{each}: {', '.join(refused) or 'nothing'} refused")
            loses = loses or bool(refused)
            if googletest and refused:
                found["refusals.cpp"] = refusals_problem(each, source, googletest, folder)
            for words, wrong in found.items():
                if wrong is not None:
                    print(f"error: {each} {words}: {wrong}")
                    failed = True
    return 1 if failed else 0 if loses else 77


if __name__ == "__main__":
    sys.exit(main())
