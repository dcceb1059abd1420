#!/usr/bin/env python3
"""What rule_tables.py makes of directories in which measurements are missing."""
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/experiments/rule_tables.py"
SCENARIOS = ["shared4", "table1", "paper", "link", "ideal", "table1-ideal", "paper-literal"]
CELLS = [f"{scenario}-{layers}" for scenario in SCENARIOS for layers in (0, 1, 3)]
LEARNED = [c for c in CELLS if not c.startswith("paper-literal")] + [f"random-{n}" for n in range(1, 41)]
LEARNED += [*(f"workers-{k}" for k in (2, 5, 8, 32, 64)), "layers-6", "cifar10", "digits"]
POLICIES = ("bsp", "bsp:sum", "asp", "ssp", "cap", "aimd", "knee", "asp+decay", "knee+decay", "distilled",
            "learned")


def tables(kind, names):
    """Of a directory in which these were measured, every policy on two seeds with times 2 and 4, knee with 1 and 2."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            times = {p: (1, 2) if p == "knee" else (2, 4) for p in POLICIES}
            rows = [f"{p},{p},0.1,{seed},{time},1\n" for p in POLICIES for seed, time in enumerate(times[p])]
            text = "policy,used,learning_rate,seed,time,reached\n" + "".join(rows)
            pathlib.Path(folder, f"{name}.csv").write_text(text)
        return subprocess.run([sys.executable, SCRIPT, kind, folder], text=True, capture_output=True, check=False)


def tables_of(kind, files):
    """Of a directory of these files, {name: [(policy, time, reached, seed)]}, seeds 0 to 3 where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in files.items():
            text = "policy,used,learning_rate,seed,time,reached\n"
            for policy, time, *more in rows:
                reached = more[0] if more else "1"
                for seed in more[1:] or range(4):
                    text += f"{policy},{policy}*,0.1,{seed},{time},{reached}\n"
            pathlib.Path(folder, f"{name}.csv").write_text(text)
        return subprocess.run([sys.executable, SCRIPT, kind, folder], text=True, capture_output=True, check=False)


def same(number):
    """A ratio that is the same in all seeds."""
    return f"{number:.2f} [{number:.2f}, {number:.2f}]"


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
        for cells in ("all", "held out, 1 to 20", "least of held out, 21 to 40", "transfer", "`link`", "`random-7`"):
            self.assertIn(f"| {cells} | - | - | {half} | {one} | {one} | - |\n", made.stdout)
        self.assertIn("missing: digits", tables("learned", LEARNED[:-1]).stderr)

    def test_learned_against_the_quickest_that_arrives(self):
        made = tables_of("learned", {
            "link-1": [("knee", 3), ("knee+decay", 2), ("distilled", 5), ("learned", 1)],
            "link-1.rules": [("asp", 4), ("bsp", 2, "0"), ("cap", 3)],
            "link-1.freedom": [("asp+decay+batch:4", 2)]})
        found = [same(x) for x in (4, 3, 3, 2, 5, 2)]
        self.assertIn(f"| `link-1` | {' | '.join(found)} |\n", made.stdout)
        names = "`asp*` | `cap*` | `asp+decay+batch:4*`"
        self.assertIn(f"| `link-1` | {names} |\n", made.stdout)
        self.assertIn(f"| `link` | {' | '.join(x + ' of 1' for x in found)} |\n", made.stdout)
        self.assertIn("| scenario: time over that of `distilled` |", made.stdout)
        found = [same(x / 5) for x in (4, 3, 3, 2, 1, 2)]
        self.assertIn(f"| `link` | {' | '.join(x + ' of 1' for x in found)} |\n", made.stdout)

    def test_where_learned_does_not_arrive_it_is_said(self):
        made = tables_of("learned", {
            "link-1": [("knee", 3), ("learned", 1, "0")], "link-3": [("knee", 3), ("learned", 1)],
            "link-1.rules": [("asp", 4)]})
        self.assertIn("`learned` does not arrive: link-1\n", made.stderr)
        self.assertIn(f"| `link-1` |{' `learned` does not arrive |' * 3}\n", made.stdout)
        self.assertIn(f"| `link` | - | - | {same(3)} of 1 | - | - | - |\n", made.stdout)

    def test_other_seeds_are_refused(self):
        made = tables_of("learned", {
            "link-1": [("knee", 3), ("learned", 1)],
            "link-1.rules": [("asp", 4, "1", 0), ("asp", 4, "1", 1)]})
        self.assertEqual(made.returncode, 1)
        self.assertRegex(made.stderr, "link-1.rules.csv: found other seeds than in link-1.csv, expected the same\n$")

    def test_learned_beside_the_plan(self):
        made = tables_of("learned", {
            "link-1.rules": [("asp", 6), ("bsp", 1, "0"), *(("asp", 1, "1", seed) for seed in range(4, 40))],
            "link-1.room": [("knee", 3), ("knee+decay", 2, "0"), ("learned", 1), ("clairvoyant", 2)]})
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        head = "| time over the plan's | best of `bsp`, `asp`, `ssp` | `knee` | `knee+decay` |"
        self.assertIn(head, made.stdout)
        self.assertIn(f"| `link-1` | {same(3)} | {same(1.5)} | - | - | {same(0.5)} |\n", made.stdout)

    def test_learned_as_three_actions(self):
        rules = [("bsp:sum", 4), ("asp", 3), ("ssp:1", 2), ("ssp:2", 5), ("ssp:3", 1, "0"), ("cap:2", 1)]
        made = tables_of("learned", {f"actions-{n}": [*rules, ("file:a", 2**n)] for n in (0, 2, 3)})  # one is missing
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertIn("| time over that of three actions | 0 layers | 2 layers | 3 layers | mean |\n", made.stdout)
        self.assertIn(f"| `bsp:sum` | {same(4)} | {same(1)} | {same(0.5)} | {same(1.26)} |\n", made.stdout)
        self.assertIn(f"| best `ssp` | {same(2)} | {same(0.5)} | {same(0.25)} | {same(0.63)} |\n", made.stdout)

    def test_learned_with_hindsight(self):
        rules = lambda knee: [("asp", 6), ("knee", knee), ("learned", 5), ("knee:0.3:eager+decay", 9), ("knee+decay", 6)]
        made = tables_of("learned", {"hindsight-7": rules(2), "hindsight-7.rules": [("asp", 4)],
                                     "hindsight-8": rules(8), "hindsight-8.rules": [("asp", 4)]})
        self.assertEqual(made.returncode, 0, made)
        self.assertEqual(made.stderr, "")
        self.assertIn("of `asp` at its tuned rate over that of | mean of 2 | below 0.93 |", made.stdout)
        self.assertIn(f"| `knee` | {same(1)} | 1 |", made.stdout)
        self.assertIn(f"| `learned` | {same(0.8)} | 2 |", made.stdout)
        self.assertIn(f"| the quickest of these | {same(math.sqrt(2 * 0.8))} | 1 |", made.stdout)
        eager = "| time of `knee:0.3:eager+decay` over that of | mean of 2 | below 0.93 |\n| --- | --- | --- |\n"
        self.assertIn(f"{eager}| `knee+decay` | {same(1.5)} | 0 |\n", made.stdout)

    def test_ablations_against_the_rule(self):
        made = tables_of("ablations", {
            name: [("knee+decay", 8), ("learned", 4), ("file:there/es-1.safetensors", time, arrives)]
            for name, time, arrives in (("link-0", 2, "1"), ("link-1", 8, "1"), ("paper-0", 1, "0"))})
        self.assertIn(f"| `learned` | {same(2)} | {same(2)} | {same(2)} |\n", made.stdout)
        self.assertIn(f"| `es-1` | {same(4)} of 1 | {same(1)} | {same(2)} of 2 |\n", made.stdout)
        self.assertNotIn("| `knee+decay` |", made.stdout)
        self.assertNotIn("best `ssp`", made.stdout)

    def test_ablations_of_three_actions(self):
        rules = [("ssp:1", 4), ("ssp:2", 3)]
        made = tables_of("ablations", {
            "link-0": [("knee+decay", 8)],
            "actions-0": [*rules, ("file:actions-mc-1.safetensors", 2)],
            "actions-3": [*rules, ("file:actions-mc-1.safetensors", 6, "0")]})
        self.assertIn("| time of the best `ssp` over that of | 0 layers | 3 layers | mean |\n", made.stdout)
        self.assertIn(f"| `actions-mc-1` | {same(1.5)} | - | {same(1.5)} of 1 |\n", made.stdout)

    def test_a_file_without_rows_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "shared4-0.csv").write_text("policy,used,learning_rate,time\n")
            made = subprocess.run([sys.executable, SCRIPT, "knee", folder], text=True, capture_output=True, check=False)
        self.assertIn("found no measurements", made.stderr)


if __name__ == "__main__":
    unittest.main()
