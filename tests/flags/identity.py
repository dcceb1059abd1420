#!/usr/bin/env python3
"""any_policy::target() tells policies apart and finds its own, whatever the compiler and the linker merge, and finds what
another shared library put in, if that shows its symbols; if it does not, there is none, and the policy works all the same.

Usage: identity.py SOURCE_DIR COMPILER          Exit: 0 fine, 1 not.
"""
import pathlib
import subprocess
import sys
import tempfile

HEADERS = """
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/ssp.hpp>
using namespace rubato;
"""
# Ends with the number of wrong answers.
ALONE = HEADERS + """
template <class P> int found(const any_policy& held, bool there) { return (held.target<P>() != nullptr) != there; }
int main() {
  const any_policy a{asp{}}, b{bsp{}}, s{ssp{.staleness = 3}};
  return found<asp>(a, true) + found<bsp>(a, false) + found<ssp>(a, false) + found<asp>(b, false) + found<bsp>(b, true) +
         found<ssp>(b, false) + found<asp>(s, false) + found<bsp>(s, false) + found<ssp>(s, true);
}
"""
LIBRARY = HEADERS + """
[[gnu::visibility("default")]] any_policy chosen() { return ssp{.staleness = 3}; }
"""
# Ends with 1 where the policy is found, with 0 where it is not.
PROGRAM = HEADERS + """
any_policy chosen();
int main() {
  const any_policy held = chosen();
  if (held.kind() != "ssp" || held.clock_bound() != 3 || held.target<bsp>() != nullptr) return 2;
  const ssp* const found = held.target<ssp>();
  return found == nullptr ? 0 : found->staleness == 3 ? 1 : 3;
}
"""
MERGED = [["-O0"], ["-O2", "-fmerge-all-constants"], ["-O2", "-fmerge-all-constants", "-flto"],
          ["-O2", "-ffunction-sections", "-fdata-sections", "-fuse-ld=gold", "-Wl,--icf=all"],
          ["-O2", "-ffunction-sections", "-fdata-sections", "-fuse-ld=lld", "-Wl,--icf=all"]]


def main():
    source, compiler = sys.argv[1:]
    command = [compiler, "-std=c++20", "-w", f"-I{source}/include"]
    failed = False

    def expect(words, got, expected):
        nonlocal failed
        print(f"{words}: {got}")
        if got != expected:
            print(f"error: {words}: {got}, expected {expected}")
            failed = True

    with tempfile.TemporaryDirectory() as folder:
        def made(name, text, *flags):
            path = pathlib.Path(folder, name)
            path.with_suffix(".cpp").write_text(text)
            subprocess.run([*command, str(path.with_suffix(".cpp")), *flags, "-o", str(path)], check=True)
            return str(path)

        def end(program):
            return subprocess.run([program], check=False).returncode

        for flags in MERGED:
            probe = subprocess.run([compiler, *flags, "-xc++", "-", "-o", f"{folder}/probe"], input="int main() {}",
                                   text=True, capture_output=True, check=False)
            if probe.returncode == 0:
                expect(f"{' '.join(flags)}: wrong answers", end(made("alone", ALONE, *flags)), 0)
            else:
                print(f"{' '.join(flags)}: left out")
        for visibility, found in (("default", 1), ("hidden", 0)):
            flags = ["-O1", f"-fvisibility={visibility}"]
            library = made(f"lib{visibility}.so", LIBRARY, *flags, "-fPIC", "-shared")
            program = made(visibility, PROGRAM, *flags, library, f"-Wl,-rpath,{folder}")
            expect(f"a shared library, {visibility}: found", end(program), found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
