#!/usr/bin/env python3
"""Whatever the flags of a unit, its pinned functions have only instructions that every x86-64 processor has.

The linker keeps one body of a function that several units have: the one of a unit built for the newest processor may be
what runs on the oldest. Reads the disassembly of a unit for the processor at hand, of programs, which keep such bodies of
units with other flags in any order, and with --compile of a unit for the newest processors. And what is for AVX2 has no
AVX-512 in it.

Usage: baseline.py [--compile SOURCE_DIR COMPILER] [UNIT.o] [PROGRAM]...
Exit: 0 fine, 1 not, 77 nothing to check on this machine.
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

# SSE3 to SSE4.2, BMI, MOVBE and the rest before AVX; everything of AVX and later begins with v.
NEWER = re.compile(
    r"v\w+|addsub\w+|h(add|sub)p[sd]|mov(ddup|shdup|sldup|be\w*|ntdqa)|lddqu|p(shufb|h(add|sub)\w+|abs\w+|sign\w+|alignr|"
    r"mulhrsw|maddubsw|blend\w+|m(in|ax)(sb|sd|uw|ud)|mulld|muldq|extr[bdq]|insr[bdq]|movsx\w+|movzx\w+|test|ackusdw|"
    r"cmpeqq|cmpgtq|cmp[ei]str\w)|blend\w+|round[ps][sd]|dpp[sd]|insertps|extractps|mpsadbw|crc32\w*|popcnt\w*|lzcnt\w*|"
    r"tzcnt\w*|andn[lq]?|bextr\w*|bls\w+|bzhi\w*|pdep\w*|pext[lq]?|(sh[lr]|sar|ror)x\w*|mulx\w*"
)
PINNED = re.compile(r"nn::kernels::portable::|pinned::plus_product|nn::detail::(normalise|remove_component|squared_errors|"
                    r"huber_losses|softmax_cross_entropy)\b|rl::detail::(follow|td_value|log_softmax|at_share|"
                    r"clipped_surrogate|advantages|standardise)\b|basic_adam<\w+>::prepare|"
                    r"normaliser<\d+ul>::count_in")
AVX2 = re.compile(r"nn::kernels::(avx2|fma)::")
AVX512 = re.compile(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])|%k[0-7]")
UNIT = """
#include "tests/flags/unit.cpp"
std::vector<flags_unit>& flags_units() { static std::vector<flags_unit> units; return units; }
"""


def findings(path, least):
    """What is wrong with the functions of an object or program, of which there should be so many, and how many there are."""
    text = subprocess.run(["objdump", "-dC", "--no-show-raw-insn", str(path)], check=True, text=True,
                          capture_output=True).stdout
    function, checked, wrong = "", set(), []
    for line in text.splitlines():
        if label := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            function = label[1]
        elif code := re.match(r"^\s+[0-9a-f]+:\s+(\S+)(.*)", line):
            if PINNED.search(function):
                checked.add(function)
                if NEWER.fullmatch(code[1]):
                    wrong.append(f"{path.name}: {code[1]} in {function}")
            elif AVX2.search(function):
                checked.add(function)
                if AVX512.search(code[2]):
                    wrong.append(f"{path.name}: {code[1]}{code[2]} in {function}")
    if len(checked) < least:
        wrong.append(f"{path.name}: only {len(checked)} functions found, at least {least} expected")
    return wrong, len(checked)


def of_newest(source, compiler):
    with tempfile.TemporaryDirectory() as folder:
        unit, made = pathlib.Path(folder, "unit.cpp"), pathlib.Path(folder, "unit.o")
        unit.write_text(UNIT)
        subprocess.run(
            [compiler, "-std=c++20", "-O2", "-march=icelake-server", "-w", f"-I{source}", f"-I{source}/include",
             "-DRUBATO_FLAGS_UNIT=baseline", '-DRUBATO_FLAGS=""', "-c", str(unit), "-o", str(made)], check=True)
        return findings(made, 30)


def main():
    if platform.machine() not in ("x86_64", "AMD64") or not shutil.which("objdump"):
        return 77
    given, results = sys.argv[1:], []
    if given[:1] == ["--compile"]:
        results.append(of_newest(*given[1:3]))
        given = given[3:]
    results += [findings(pathlib.Path(path), 30 if path.endswith(".o") else 15) for path in given]
    if not results:
        return 77
    for wrong, checked in results:
        print(f"{checked} functions checked")
        for line in wrong:
            print(f"error: {line}", file=sys.stderr)
    return 1 if any(wrong for wrong, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
