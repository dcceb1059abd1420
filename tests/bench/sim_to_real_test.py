#!/usr/bin/env python3
"""bench/experiments/sim_to_real.py on results that are there already, so that nothing is run."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/experiments/sim_to_real.py"
sys.path.insert(0, str(SCRIPT.parent))
import sim_to_real  # noqa: E402


def compared(simulated, real):
    """The script's answer for times by policy, of which each seed has the same."""
    with tempfile.TemporaryDirectory() as folder:
        for name, times in (("simulated", simulated), ("real", real)):
            lines = ["policy,seed,time"] + [f"{p},{s},{t}" for s in range(4) for p, t in times.items()]
            pathlib.Path(folder, f"few-{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return subprocess.run([sys.executable, SCRIPT, "no-lab", "--scenarios", "few", "--out", folder], text=True,
                              capture_output=True, check=False)


class SimToReal(unittest.TestCase):
    def test_equal_ratios_are_no_error_whatever_the_unit(self):
        made = compared({"a": 10, "b": 20, "c": 5}, {"a": 30, "b": 60, "c": 15})
        self.assertEqual(made.returncode, 0, made)
        self.assertIn("| b | 20.0 | 60.0 | 2.00 | 2.00 | +0% |", made.stdout)
        self.assertIn("Rank correlation 1.00.", made.stdout)
        self.assertIn("Median error of the ratios 0%, the largest 0%.", made.stdout)

    def test_another_order_fails(self):
        made = compared({"a": 10, "b": 11, "c": 12}, {"a": 10, "b": 12, "c": 11})
        self.assertIn("Rank correlation 0.50.", made.stdout)
        self.assertEqual(made.returncode, 1)

    def test_ratios_that_are_far_off_fail_in_the_right_order(self):
        made = compared({"a": 10, "b": 20, "c": 40}, {"a": 10, "b": 30, "c": 80})
        self.assertIn("Rank correlation 1.00.", made.stdout)
        self.assertIn("Median error of the ratios 42%, the largest 50%.", made.stdout)
        self.assertEqual(made.returncode, 1)

    def test_ranks_share_places(self):
        self.assertEqual(sim_to_real.ranks([3, 1, 2, 2]), [4, 1, 2.5, 2.5])

    def test_interquartile_mean_takes_parts_of_the_edges(self):
        self.assertEqual(sim_to_real.interquartile_mean([100, 2, 3, -50]), 2.5)
        self.assertAlmostEqual(sim_to_real.interquartile_mean([0, 0, 0, 1, 2, 3]), (0.5 * 0 + 0 + 1 + 0.5 * 2) / 3)


if __name__ == "__main__":
    unittest.main()
