#!/usr/bin/env python3
"""What rule_tables.py makes of directories in which measurements are missing."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/experiments/rule_tables.py"
SCENARIOS = ["shared4", "table1", "paper", "link", "ideal", "table1-ideal", "paper-literal"]
CELLS = [f"{scenario}-{layers}" for scenario in SCENARIOS for layers in (0, 1, 3)]
POLICIES = ("bsp", "bsp:sum", "asp", "ssp", "cap", "aimd", "knee", "asp+decay", "knee+decay")


def tables(kind, names):
    """Of a directory in which these were measured, every policy on two seeds with the times 2 and 4, knee with 1 and 2."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            times = {p: (1, 2) if p == "knee" else (2, 4) for p in POLICIES}
            rows = [f"{p},{p},0.1,{time}\n" for p in POLICIES for time in times[p]]
            pathlib.Path(folder, f"{name}.csv").write_text("policy,used,learning_rate,time\n" + "".join(rows))
        return subprocess.run([sys.executable, SCRIPT, kind, folder], text=True, capture_output=True, check=False)


class RuleTables(unittest.TestCase):
    def test_nothing_is_refused_in_a_sentence(self):
        for kind, first in (("knee", "shared4-0.csv"), ("rules", "shared4.csv")):
            made = tables(kind, [])
            self.assertEqual(made.returncode, 1, made)
            self.assertEqual(made.stdout, "")
            self.assertRegex(made.stderr, rf"^rule_tables.py: \S+: found no measurements, expected {first} to .*\n$")

    def test_what_is_missing_is_named(self):
        made = tables("knee", [c for c in CELLS if c not in ("paper-1", "table1-ideal-3")])
        self.assertEqual(made.returncode, 0, made)
        self.assertRegex(made.stderr, r"^rule_tables.py: \S+: missing: paper-1, table1-ideal-3\n$")
        made = tables("rules", [s for s in SCENARIOS if s != "link"])
        self.assertEqual(made.returncode, 0, made)
        self.assertRegex(made.stderr, r"^rule_tables.py: \S+: missing: link\n$")

    def test_means_say_of_how_many_cells(self):
        made = tables("knee", CELLS[:20])
        one, two = "1.00 [1.00, 1.00]", "2.00 [2.00, 2.00]"
        self.assertIn(f"| geometric mean of 20 |  |  | {one} | {one}, 1.00 | {two}, 2.00 | {one}, 1.00 |\n", made.stdout)
        self.assertIn("| least of 20 |", made.stdout)
        self.assertIn("| geometric mean of 6 |", tables("rules", SCENARIOS[:6]).stdout)

    def test_nothing_missing_is_nothing_said(self):
        for kind, names in (("knee", CELLS), ("rules", SCENARIOS)):
            made = tables(kind, names)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            self.assertIn(f"geometric mean of {len(names)} |", made.stdout)

    def test_a_file_without_rows_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "shared4-0.csv").write_text("policy,used,learning_rate,time\n")
            made = subprocess.run([sys.executable, SCRIPT, "knee", folder], text=True, capture_output=True, check=False)
        self.assertIn("found no measurements", made.stderr)


if __name__ == "__main__":
    unittest.main()
