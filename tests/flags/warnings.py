#!/usr/bin/env python3
"""Who includes the headers as they are, and not as those of a system, sees no warning in them, however many are errors.

Compiles all headers as one unit with what a strict consumer might ask for, the tests' own warnings and many more.

Usage: warnings.py SOURCE_DIR COMPILER          Exit: 0 fine, 1 not.
"""
import pathlib
import subprocess
import sys
import tempfile

COMMON = ["-Wall", "-Wextra", "-Wpedantic", "-pedantic-errors", "-Wconversion", "-Wsign-conversion", "-Wshadow",
          "-Wold-style-cast", "-Wcast-qual", "-Wcast-align", "-Wdouble-promotion", "-Wformat=2", "-Wundef",
          "-Wnon-virtual-dtor", "-Woverloaded-virtual", "-Wredundant-decls", "-Wextra-semi",
          "-Wzero-as-null-pointer-constant", "-Wmissing-declarations", "-Wunused", "-Wvla", "-Wimplicit-fallthrough",
          "-Wdeprecated", "-Werror"]
GCC = ["-Wduplicated-cond", "-Wduplicated-branches", "-Wlogical-op", "-Wsuggest-override", "-Wstrict-null-sentinel",
       "-Wcomma-subscript", "-Wvolatile", "-Wuseless-cast"]
# All that clang has, but for what is about other standards and the layout, and for what this library means to do.
CLANG = ["-Weverything", "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic", "-Wno-c++20-compat", "-Wno-padded",
         "-Wno-pre-c++20-compat", "-Wno-pre-c++17-compat", "-Wno-unsafe-buffer-usage", "-Wno-switch-default",
         "-Wno-unknown-warning-option",
         "-Wno-float-equal",    # numbers that were copied, and 0
         "-Wno-switch-enum",    # `default` stands for the rest
         "-Wno-covered-switch-default",  # values that came from elsewhere may be none of the enumeration's
         "-Wno-weak-vtables",   # there is no unit to put one in
         "-Wno-ctad-maybe-unsupported",  # of the standard library, too
         "-Wno-comma",          # several counters in one statement
         "-Wno-documentation",  # of Doxygen's commands it knows few
         "-Wno-documentation-unknown-command",
         ]


def main():
    source, compiler = sys.argv[1:]
    include = pathlib.Path(source, "include")
    headers = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.hpp"))
    version = subprocess.run([compiler, "--version"], check=True, text=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder, "unit.cpp")
        unit.write_text("".join(f"#include <{header}>\n" for header in headers))
        own = [*CLANG, "-ferror-limit=0"] if "clang" in version else [*GCC, "-fmax-errors=0"]
        run = subprocess.run([compiler, "-std=c++20", *COMMON, *own, f"-I{include}", "-fsyntax-only", str(unit)],
                             text=True, capture_output=True, check=False)
    print(f"{len(headers)} headers, {version.splitlines()[0]}")
    print(run.stderr, end="")
    return 0 if run.returncode == 0 and not run.stderr else 1


if __name__ == "__main__":
    sys.exit(main())
