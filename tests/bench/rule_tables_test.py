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
LEARNED = [c for c in CELLS if not c.startswith("paper-literal")] + [f"random-{n}" for n in range(1, 21)]
LEARNED += [*(f"workers-{k}" for k in (2, 5, 8, 32, 64)), "layers-6", "cifar10"]
POLICIES = ("bsp", "bsp:sum", "asp", "ssp", "cap", "aimd", "knee", "asp+decay", "knee+decay", "distilled",
            "learned")


def tables(kind, names):
    """Of a directory in which these were measured, every policy on two seeds with the times 2 and 4, knee with 1 and 2."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            times = {p: (1, 2) if p == "knee" else (2, 4) for p in POLICIES}
            rows = [f"{p},{p},0.1,{time},1\n" for p in POLICIES for time in times[p]]
            pathlib.Path(folder, f"{name}.csv").write_text("policy,used,learning_rate,time,reached\n" + "".join(rows))
        return subprocess.run([sys.executable, SCRIPT, kind, folder], text=True, capture_output=True, check=False)


class RuleTables(unittest.TestCase):
    def test_nothing_is_refused_in_a_sentence(self):
        for kind, first in (("knee", "shared4-0.csv"), ("rules", "shared4.csv"), ("learned", "shared4-0.csv")):
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

    def test_learned_against_what_was_measured(self):
        made = tables("learned", LEARNED)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        half, one = "0.50 [0.50, 0.50]", "1.00 [1.00, 1.00]"
        for cells in ("all", "held out", "transfer", "`link`", "`random-7`"):
            self.assertIn(f"| {cells} | - | - | {half} | {one} | {one} | - |\n", made.stdout)
        self.assertIn("missing: cifar10", tables("learned", LEARNED[:-1]).stderr)

    def test_learned_against_the_quickest_that_arrives(self):
        with tempfile.TemporaryDirectory() as folder:
            header = "policy,used,learning_rate,time,reached\n"
            rows = {"": [("knee", 3, 1), ("knee+decay", 2, 1), ("distilled", 5, 1), ("learned", 1, 1)],
                    ".rules": [("asp", 4, 1), ("bsp", 2, 0), ("cap", 3, 1)],
                    ".freedom": [("asp+decay+batch:4", 2, 1)]}
            for kind, each in rows.items():
                text = "".join(f"{p},{p}*,0.1,{time},{reached}\n" for p, time, reached in each for _ in range(4))
                pathlib.Path(folder, f"link-1{kind}.csv").write_text(header + text)
            made = subprocess.run([sys.executable, SCRIPT, "learned", folder], text=True, capture_output=True, check=False)
        found = [f"{x}.00 [{x}.00, {x}.00]" for x in (4, 3, 3, 2, 5, 2)]
        self.assertIn(f"| `link-1` | {' | '.join(found)} |\n", made.stdout)
        self.assertIn("| `link-1` | `asp*` | `cap*` | `knee*` | `knee+decay*` | `distilled*` | `asp+decay+batch:4*` |\n", made.stdout)
        self.assertIn(f"| `link` | {' | '.join(x + ' of 1' for x in found)} |\n", made.stdout)

    def test_learned_beside_the_plan_and_as_three_actions(self):
        with tempfile.TemporaryDirectory() as folder:
            header = "policy,used,learning_rate,time,reached\n"
            files = {"link-1": [("learned", 1)], "link-1.rules": [("asp", 6)],
                     "link-1.room": [("knee", 3), ("learned", 1), ("clairvoyant", 2)]}
            for layers in (0, 2, 3):  # one is missing
                rules = [("bsp:sum", 4), ("asp", 3), ("ssp:1", 2), ("ssp:2", 5), ("cap:2", 1), ("file:a", 2**layers)]
                files[f"actions-{layers}"] = rules
            for name, rows in files.items():
                text = "".join(f"{p},{p},0.1,{time},1\n" for p, time in rows for _ in range(4))
                pathlib.Path(folder, f"{name}.csv").write_text(header + text)
            made = subprocess.run([sys.executable, SCRIPT, "learned", folder], text=True, capture_output=True, check=False)
        self.assertEqual(made.returncode, 0, made)
        self.assertIn("| time over the plan's | best of `bsp`, `asp`, `ssp` | `knee` | `learned` |\n", made.stdout)
        self.assertIn("| `link-1` | 3.00 [3.00, 3.00] | 1.50 [1.50, 1.50] | 0.50 [0.50, 0.50] |\n", made.stdout)
        self.assertIn("| time over that of three actions | 0 layers | 2 layers | 3 layers | mean |\n", made.stdout)
        for label, times in (("`bsp:sum`", (4, 1, 0.5, 1.26)), ("best `ssp`", (2, 0.5, 0.25, 0.63))):
            cells = " | ".join(f"{t:.2f} [{t:.2f}, {t:.2f}]" for t in times)
            self.assertIn(f"| {label} | {cells} |\n", made.stdout)

    def test_the_plan_and_three_actions_need_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            text = "".join(f"{p},{p},0.1,2,1\n" for p in ("bsp:sum", "asp", "ssp:1", "cap:2", "file:a") for _ in range(4))
            pathlib.Path(folder, "actions-0.csv").write_text("policy,used,learning_rate,time,reached\n" + text)
            made = subprocess.run([sys.executable, SCRIPT, "learned", folder], text=True, capture_output=True, check=False)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertIn("| `asp` | 1.00 [1.00, 1.00] | 1.00 [1.00, 1.00] |\n", made.stdout)

    def test_ablations_against_the_rule(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, time in (("link-0", 2), ("link-1", 8)):
                rows = [("knee+decay", 8), ("learned", 4), ("file:there/es-1.safetensors", time)]
                text = "".join(f"{p},{p},0.1,{t},1\n" for p, t in rows for _ in range(4))
                pathlib.Path(folder, f"{name}.csv").write_text("policy,used,learning_rate,time,reached\n" + text)
            made = subprocess.run([sys.executable, SCRIPT, "ablations", folder], text=True, capture_output=True, check=False)
        two = "2.00 [2.00, 2.00]"
        self.assertIn(f"| `learned` | {two} | {two} | {two} |\n", made.stdout)
        self.assertIn(f"| `es-1` | 4.00 [4.00, 4.00] | 1.00 [1.00, 1.00] | {two} |\n", made.stdout)
        self.assertNotIn("| `knee+decay` |", made.stdout)

    def test_a_file_without_rows_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "shared4-0.csv").write_text("policy,used,learning_rate,time\n")
            made = subprocess.run([sys.executable, SCRIPT, "knee", folder], text=True, capture_output=True, check=False)
        self.assertIn("found no measurements", made.stderr)


if __name__ == "__main__":
    unittest.main()
