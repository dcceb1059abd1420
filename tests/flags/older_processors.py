#!/usr/bin/env python3
"""Built for any x86-64 processor, a program takes the kernels that the processor has, and executes no instruction that it
lacks. Runs the operations of tests/counts on emulated processors; an illegal instruction ends the program.

Usage: older_processors.py PROGRAM COMPILER          Exit: 0 fine, 1 not, 77 no emulator (Debian: qemu-user).
"""
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile

EXPECTED = {"Nehalem": {"portable"}, "Haswell": {"portable", "avx2", "avx2+fma"}}
# That the emulator notices: one instruction of AVX.
PROBE = 'int main() { __asm__ volatile("vpxor %%ymm0, %%ymm0, %%ymm0" ::: "xmm0"); }'


def run(processor, *command):
    return subprocess.run(["qemu-x86_64", "-cpu", processor, *command], text=True, capture_output=True, check=False)


def main():
    program, compiler = sys.argv[1:]
    if platform.machine() not in ("x86_64", "AMD64") or not shutil.which("qemu-x86_64"):
        print("no qemu-x86_64 (Debian: qemu-user): nothing is checked")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        probe = pathlib.Path(folder, "probe")
        subprocess.run([compiler, "-x", "c++", "-", "-o", str(probe)], input=PROBE, text=True, check=True)
        for processor, dies in (("Nehalem", True), ("Haswell", False)):
            if (run(processor, str(probe)).returncode in (-signal.SIGILL, 128 + signal.SIGILL)) != dies:
                wrong.append(f"{processor}: AVX is {'no' if dies else 'an'} illegal instruction")
    for processor, expected in EXPECTED.items():
        listed = [line.split() for line in run(processor, program).stdout.splitlines()]
        if {kernels for _, kernels in listed} != expected:
            wrong.append(f"{processor}: kernels {listed}, expected {expected}")
        for operation, kernels in listed:
            status = run(processor, program, operation, kernels, "50").returncode
            print(f"{processor} {operation} {kernels}: {status}")
            if status != 0:
                wrong.append(f"{processor}: {operation} with {kernels} ends with {status}")
    for line in wrong:
        print(f"error: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
