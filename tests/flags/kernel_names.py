#!/usr/bin/env python3
"""No vector kernel of the simulator has the same name in units that are compiled for different processors.

The linker keeps one body of a function that several units have, and a body that is declared for AVX2 has AVX-512 in it
where the unit is compiled for that. Compiles the kernels for several processors and compares the symbols.

Usage: kernel_names.py SOURCE_DIR COMPILER          Exit: 0 fine, 1 not, 77 nothing to check on this machine.
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

UNIT = """
#include <rubato/sim/kernels/kernels.hpp>
const void* const sets[] = {rubato::sim::kernels::avx512::available(), rubato::sim::kernels::avx2::available(),
                            &rubato::sim::kernels::native()};
"""
FLAGS = [[], ["-mavx2", "-mfma"], ["-mavx512f"], ["-march=icelake-server"]]
KERNEL = re.compile(r"kernels::(avx2|avx512)::|kernels::\w+::native")


def kernels(compiler, source, folder, flags):
    """The symbols of vector kernels in a unit that is compiled with these flags."""
    unit, made = pathlib.Path(folder, "unit.cpp"), pathlib.Path(folder, "unit.o")
    unit.write_text(UNIT)
    subprocess.run([compiler, "-std=c++20", "-O2", *flags, f"-I{source}/include", "-c", str(unit), "-o", str(made)],
                   check=True)
    text = subprocess.run(["nm", "-C", "--defined-only", str(made)], check=True, text=True, capture_output=True).stdout
    names = (line.split(maxsplit=2)[2] for line in text.splitlines())
    return {name for name in names if KERNEL.search(name)}


def main():
    source, compiler = sys.argv[1:]
    if platform.machine() not in ("x86_64", "AMD64") or not shutil.which("nm"):
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        found = [kernels(compiler, source, folder, flags) for flags in FLAGS]
    for i, names in enumerate(found):
        print(f"{len(names)} kernels with {FLAGS[i]}")
        failed = failed or len(names) < 10
        for j in range(i):
            for name in sorted(names & found[j]):
                print(f"error: {name} both with {FLAGS[i]} and with {FLAGS[j]}", file=sys.stderr)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
