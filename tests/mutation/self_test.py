#!/usr/bin/python3
"""Mutation testing finds what it is for: in a tiny library with one untested boundary and one equivalent change, the
mutants behind these survive and all others die. The sample and the list of survivors know a mutant wherever its line
is. Ends with 77 where libclang or clang is missing.

usage: self_test.py
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import clang.cindex  # noqa: F401
    import places
    import run
    import schemata
    import survivors
except ImportError:
    sys.exit(77)

HEADER = """#ifndef TINY_HPP
#define TINY_HPP
namespace tiny {
constexpr int limit = 3 + 4;
static_assert(limit == 7);
// Not tested at x == 0, as R\u00e9nyi would have noticed: offsets are of bytes.
inline bool is_positive(int x) { return x > 0; }
constexpr int twice(int x) { return x + x; }
template <class T>
int count(const T& all) {
  int n = 0;
  for (const auto& each : all)
    if (is_positive(each)) ++n;
  return n;
}
inline void add(int& sum, int x) {
  if (x < 0) return;
  sum += x;
}
template <int N>
int squared() { return N * N; }
template <int N>
int power() { return squared<N - 1>(); }
}
#endif
"""
MAIN = """#include <rubato/core/tiny.hpp>
int main() {
  const int some[] = {-1, 2, 3};
  int sum = 1;
  tiny::add(sum, 2);
  tiny::add(sum, -5);
  if (tiny::power<3>() != 4) return 1;
  static_assert(tiny::twice(2) == 4);
  return tiny::count(some) == 2 && tiny::twice(4) == 8 && sum == 3 && !tiny::is_positive(-1) ? 0 : 1;
}
"""


class Tiny(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        header = cls.folder / "include" / "rubato" / "core" / "tiny.hpp"
        header.parent.mkdir(parents=True)
        header.write_text(HEADER, encoding="utf-8")
        cls.mutants = places.places(cls.folder, ["core"])
        edits = [schemata.Edit(n, m.begin, m.end, m.text, False) for n, m in enumerate(cls.mutants, 1)]
        build = cls.folder / "build"
        build.mkdir()
        cls.left_out = schemata.write(cls.folder, build, {"rubato/core/tiny.hpp": edits}, len(edits))
        (build / "tiny.cpp").write_text(MAIN)
        subprocess.run(["clang++", "-std=c++20", "-w", "-include", str(build / "switch.hpp"),
                        f"-I{build / 'include'}", str(build / "tiny.cpp"), "-o", str(build / "tiny")], check=True)
        cls.program = build / "tiny"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_with(self, number):
        return subprocess.run([str(self.program)], env={"RUBATO_MUTANT": str(number)}, timeout=10).returncode

    def test_what_the_compiler_evaluates_is_no_place(self):
        self.assertFalse([m for m in self.mutants if m.line in (4, 5, 23)])
        self.assertTrue([m for m in self.mutants if m.line == 21])

    def test_every_kind_of_change_is_there(self):
        kinds = {m.what for m in self.mutants}
        self.assertLessEqual({"> -> >=", "> -> <=", "+ -> -", "++ -> --", "+= -> -=", "deleted", "0 -> 0 + 1",
                              "negated"}, kinds)

    def test_without_a_mutant_nothing_changes(self):
        self.assertEqual(self.run_with(0), 0)

    def test_only_the_untested_and_the_equivalent_survive(self):
        survivors = {(m.line, m.what) for n, m in enumerate(self.mutants, 1) if self.run_with(n) == 0}
        # is_positive(0) is never asked. add(sum, 0) is the same whether it returns early or not.
        self.assertEqual(survivors, {(7, "> -> >="), (7, "0 -> 0 + 1"), (17, "< -> <="), (17, "0 -> 0 + 1")})

    def with_a_line_more(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        header = folder / "include" / "rubato" / "core" / "tiny.hpp"
        header.parent.mkdir(parents=True)
        header.write_text(HEADER.replace("template", "inline int none() { return -1; }\ntemplate", 1), encoding="utf-8")
        found = places.places(folder, ["core"])
        keys = survivors.keys_of(folder, found)
        shutil.rmtree(folder)
        return found, keys

    def test_another_line_leaves_the_keys_and_the_sample(self):
        keys = survivors.keys_of(self.folder, self.mutants)
        moved, moved_keys = self.with_a_line_more()
        self.assertEqual(len(set(keys)), len(keys))
        self.assertLess(set(keys), set(moved_keys))
        drawn, _ = run.sample_of(self.mutants, keys, 3, 1)
        again, _ = run.sample_of(moved, moved_keys, 3, 1)
        self.assertGreaterEqual(len({k for k, _ in drawn[:3]} & {k for k, _ in again[:4]}), 2)

    def test_the_list_of_survivors_names_mutants(self):
        path = self.folder / "survivors.txt"
        path.write_text("A remark.\ncore/tiny.hpp\n    if (x < 0) return;\n        < -> <=: adding nothing\n")
        known = survivors.read(path)
        self.assertEqual(list(known.values()), ["adding nothing"])
        self.assertLess(set(known), set(survivors.keys_of(self.folder, self.mutants)))
        path.write_text("core/tiny.hpp\n        < -> <=: of which line?\n")
        with self.assertRaises(SystemExit):
            survivors.read(path)


if __name__ == "__main__":
    unittest.main()
