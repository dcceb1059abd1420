#!/usr/bin/env python3
"""bench/experiments/sim_to_real.py on results that are there already, so that nothing is run."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/experiments/sim_to_real.py"
sys.path.insert(0, str(SCRIPT.parent))
import sim_to_real  # noqa: E402


def compared(simulated, real, *options, host="threads"):
    """The script's answer for times by policy."""
    with tempfile.TemporaryDirectory() as folder:
        for name, times in (("simulated", simulated), (host, real)):
            rows = [{"policy": policy, "time_iqm": time} for policy, time in times.items()]
            pathlib.Path(folder, f"few-{name}.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
        return subprocess.run([sys.executable, SCRIPT, "no-lab", "--scenarios", "few", "--out", folder, *options],
                              text=True, capture_output=True, check=False)


class SimToReal(unittest.TestCase):
    def test_equal_ratios_are_no_error_whatever_the_unit(self):
        made = compared({"a": 10, "b": 20, "c": 5}, {"a": 30, "b": 60, "c": 15})
        self.assertEqual(made.returncode, 0, made)
        self.assertIn("| b | 20.0 | 60.0 | 2.00 | 2.00 | +0% |", made.stdout)
        self.assertIn("Rank correlation 1.00.", made.stdout)
        self.assertIn("All 2 ratios: rank correlation 1.00, median error 0%, the largest 0%.", made.stdout)

    def test_each_host_has_its_own_results(self):
        made = compared({"a": 10, "b": 20, "c": 5}, {"a": 30, "b": 60, "c": 15}, "--host", "gloo", host="gloo")
        self.assertEqual(made.returncode, 0, made)
        self.assertIn("few, 10 seeds, gloo, 0.02 s a unit", made.stdout)
        made = compared({"a": 10, "b": 20, "c": 5}, {"a": 30, "b": 60, "c": 15}, host="gloo")
        self.assertIn("no-lab", made.stderr, "there are none of threads, which have to be made")

    def test_another_order_fails(self):
        made = compared({"a": 10, "b": 11, "c": 12, "d": 13}, {"a": 10, "b": 12, "c": 11, "d": 13})
        self.assertIn("Rank correlation 0.80.", made.stdout)
        self.assertIn("All 3 ratios: rank correlation 0.50,", made.stdout)
        self.assertEqual(made.returncode, 1)

    def test_ratios_that_are_far_off_fail_in_the_right_order(self):
        made = compared({"a": 10, "b": 20, "c": 40}, {"a": 10, "b": 30, "c": 80})
        self.assertIn("Rank correlation 1.00.", made.stdout)
        self.assertIn("All 2 ratios: rank correlation 1.00, median error 42%, the largest 50%.", made.stdout)
        self.assertEqual(made.returncode, 1)

    def test_ranks_share_places(self):
        self.assertEqual(sim_to_real.ranks([3, 1, 2, 2]), [4, 1, 2.5, 2.5])


if __name__ == "__main__":
    unittest.main()
