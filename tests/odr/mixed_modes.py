#!/usr/bin/env python3
"""Units in different assertion modes do not link with each other: what one of them defines and another calls, has
another name there. Nor do those of different versions. Units in one mode link, whatever else differs. And a unit in the
checked mode does check: RUBATO_CHECKED decides, whatever NDEBUG says.

Usage: mixed_modes.py SOURCE_DIR COMPILER          Exit: 0 fine, 1 not.
"""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

# One unit decides for another: a host's library, and the program that uses it.
LIBRARY = """
#include <rubato/sync/controller.hpp>
#include <rubato/sync/ssp.hpp>
std::uint64_t updates_of(const rubato::controller<rubato::ssp, int>& sync) { return sync.updates(); }
"""
PROGRAM = """
#include <rubato/sync/controller.hpp>
#include <rubato/sync/ssp.hpp>
std::uint64_t updates_of(const rubato::controller<rubato::ssp, int>& sync);
int main() { return static_cast<int>(updates_of({{.capacity = 1}, {}})); }
"""
BROKEN = """
#include <rubato/sync/ssp.hpp>
int main(int arguments, char**) { return rubato::ssp_rlp(static_cast<rubato::clock_type>(arguments - 1)).staleness == 1; }
"""
MESSAGE = r"include/rubato/sync/ssp\.hpp:\d+: rubato: with s = 0 nobody could ever run \(s >= 1\)\n"
CHECKED, UNCHECKED = ["-DRUBATO_CHECKED=1"], ["-DRUBATO_CHECKED=0"]
CUSTOM = ["-DRUBATO_ASSERT(condition, message)=static_cast<void>(condition)"]
# flags of the library, flags of the program, whether they link
CASES = [
    (CHECKED, CHECKED, True),
    (UNCHECKED, UNCHECKED, True),
    (UNCHECKED + ["-O0"], UNCHECKED + ["-O2", "-ffast-math", "-fno-finite-math-only", "-fno-exceptions", "-fno-rtti"], True),
    (CHECKED, UNCHECKED, False),
    (UNCHECKED, CHECKED, False),
    (UNCHECKED, CUSTOM, False),
    (CHECKED, CUSTOM, False),
    (["-DNDEBUG"], ["-UNDEBUG"], False),
    (CHECKED + ["-DNDEBUG"], CHECKED, True),
    (UNCHECKED, ["-DNDEBUG"], True),
]
# flags, whether a broken precondition ends the program
ENDS = [
    ([], True),
    (["-DNDEBUG"], False),
    (CHECKED, True),
    (CHECKED + ["-DNDEBUG", "-O2", "-fno-exceptions", "-fno-rtti"], True),
    (UNCHECKED, False),
    (UNCHECKED + ["-UNDEBUG"], False),
]


class Bench:
    """A folder in which units are compiled, each once, and linked."""

    def __init__(self, compiler, folder):
        self.compiler, self.folder, self.made = compiler, pathlib.Path(folder), {}

    def compiled(self, text, include, flags):
        key = (text, str(include), *flags)
        if key not in self.made:
            unit = self.folder / f"unit{len(self.made)}.cpp"
            unit.write_text(text)
            subprocess.run([self.compiler, "-std=c++20", "-w", f"-I{include}", *flags, "-c", str(unit), "-o",
                            str(unit.with_suffix(".o"))], check=True)
            self.made[key] = str(unit.with_suffix(".o"))
        return self.made[key]

    def problem(self, library, program, links):
        """What is wrong about the link of two objects that should link, or should not; None if nothing is."""
        run = subprocess.run([self.compiler, library, program, "-o", str(self.folder / "program")], text=True,
                             capture_output=True, check=False)
        if (run.returncode == 0) != links:
            return run.stderr.strip() or "they link"
        if not links and not re.search(r"updates_of\(.*rubato::v\d+_\d+", run.stderr):
            return f"another error than that of updates_of: {run.stderr.strip()}"
        return None

    def end_problem(self, program, ends):
        """What is wrong about the end of a program that breaks a precondition; None if nothing is."""
        made = str(self.folder / "program")
        subprocess.run([self.compiler, program, "-o", made], check=True)
        run = subprocess.run([made], text=True, capture_output=True, check=False)
        if not ends:
            return None if run.returncode == 0 and not run.stderr else f"{run.returncode}: {run.stderr}"
        if run.returncode != -signal.SIGABRT:
            return f"no end: {run.returncode}"
        return None if re.search(MESSAGE, run.stderr) else f"another message: {run.stderr}"


def another_version(source, folder):
    """A copy of the headers that says it is the next version."""
    include = pathlib.Path(folder, "next")
    subprocess.run(["cp", "-r", f"{source}/include", str(include)], check=True)
    header = include / "rubato/version.hpp"
    text = header.read_text(encoding="utf-8")
    changed = re.sub(r"(RUBATO_VERSION_MINOR )(\d+)", lambda m: f"{m[1]}{int(m[2]) + 1}", text)
    if changed == text:
        sys.exit("mixed_modes.py: version.hpp has no RUBATO_VERSION_MINOR")
    header.write_text(changed, encoding="utf-8")
    return include


def main():
    source, compiler = sys.argv[1:]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(compiler, folder)
        here = pathlib.Path(source, "include")
        pairs = [(bench.compiled(LIBRARY, here, first), bench.compiled(PROGRAM, here, second), links,
                  f"{' '.join(first)} and {' '.join(second)}") for first, second, links in CASES]
        pairs.append((bench.compiled(LIBRARY, another_version(source, folder), UNCHECKED),
                      bench.compiled(PROGRAM, here, UNCHECKED), False, "the next version and this one"))
        for library, program, links, words in pairs:
            problem = bench.problem(library, program, links)
            print(f"{words}: {'link' if links else 'do not link'}{', as they should' if problem is None else ''}")
            if problem is not None:
                print(f"error: {words}: expected that they {'link' if links else 'do not link'}: {problem}")
                failed = True
        for flags, ends in ENDS:
            problem = bench.end_problem(bench.compiled(BROKEN, here, flags), ends)
            words = f"{' '.join(flags) or 'no flags'}: a broken precondition {'ends' if ends else 'does not end'} the program"
            print(f"{words}{', as it should' if problem is None else ''}")
            if problem is not None:
                print(f"error: {words}: {problem}")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
