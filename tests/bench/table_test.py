#!/usr/bin/env python3
"""What bench/table.py says of measurements that are known."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/table.py"
BARS = [
    {"row": "bench_mlp/evaluate/independent/avx2+fma", "counter": "ratio", "most": 1.27},
    {"row": "bench_mlp/evaluate/independent/NATIVE", "counter": "over_eigen", "least": 1.5, "optional": True},
    {"row": "bench_decide/prepared/*", "counter": "p50", "most": 140},
]


def repetition(name, index=0, **counters):
    return {"name": name, "run_type": "iteration", "repetition_index": index, "real_time": 1.0, "cpu_time": 1.0,
            "time_unit": "ns", **counters}


def evaluate(kernels, floors, ours, peers=()):
    """Repetitions of one row; a peer's time only as its ratio to ours, as a program may write it."""
    made = []
    for i, (floor, own) in enumerate(zip(floors, ours)):
        counters = {"min": own, "floor": floor, "ratio": own / floor}
        if peers:
            counters["over_eigen"] = peers[i] / own
        made.append(repetition(f"evaluate/independent/{kernels}/manual_time", i, **counters))
    return made


def table(mlp, decide, *options, bars=BARS, kernels="avx2+fma"):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, rows in (("bench_mlp", mlp), ("bench_decide", decide)):
            if rows is None:
                continue
            path = pathlib.Path(folder, f"{name}.json")
            text = json.dumps({"context": {"load_avg": [0.25, 0, 0], "missing_peers": " rtneural", "kernels": kernels}, "benchmarks": rows})
            path.write_text(text if rows else "")  # the file of a program of which the filter left nothing
            files.append(str(path))
        held = pathlib.Path(folder, "bars.json")
        held.write_text(json.dumps({"bars": bars}))
        return subprocess.run([sys.executable, SCRIPT, *files, "--bars", str(held), *options], text=True,
                              capture_output=True, check=False)


QUIET = evaluate("avx2+fma", [100, 101, 102], [126, 140, 130])
QUICK = [repetition(f"prepared/{k}/iterations:1/manual_time", min=90.0, p50=120.0) for k in (10, 1000)]


class Table(unittest.TestCase):
    def line(self, made, row):
        return next(line for line in made.stdout.splitlines() if line.startswith(f"| {row} |"))

    def test_bars_that_are_met_leave_status_0(self):
        made = table(QUIET, QUICK)
        self.assertEqual(made.returncode, 0, made)
        self.assertNotIn("FALLS SHORT", made.stdout)
        self.assertIn("| 126 ns | 100 ns | ×1.26 |", self.line(made, "bench_mlp/evaluate/independent/avx2+fma"))
        self.assertIn("ratio 1.26 ≤ 1.27", made.stdout)
        self.assertIn("0 missed, 0 not measured", made.stdout)

    def test_a_missed_bar_falls_short(self):
        slow = [repetition("prepared/1000", min=90.0, p50=141.0)]
        made = table(QUIET, slow)
        self.assertEqual(made.returncode, 1, made)
        self.assertIn("**FALLS SHORT** p50 141, not ≤ 140", self.line(made, "bench_decide/prepared/1000"))
        self.assertIn("1 missed", made.stdout)
        self.assertEqual(table(QUIET, slow, "--print-only").returncode, 0)

    def test_minimum_is_compared_with_minimum(self):
        """Neither the ratio of one repetition counts, nor a peer's time in another than its best."""
        made = table(evaluate("avx2+fma", [120, 100], [126, 150], peers=[300, 160]), QUICK)
        line = self.line(made, "bench_mlp/evaluate/independent/avx2+fma")
        self.assertIn("ratio 1.26 ≤ 1.27", line)
        self.assertIn("**FALLS SHORT** over_eigen 1.27, not ≥ 1.5", line)
        self.assertIn("eigen 160 ns (×1.27)", line)

    def test_peers_are_held_to_the_kernels_in_use(self):
        rows = QUIET + evaluate("avx512", [60, 60], [90, 90], peers=[150, 150])
        made = table(rows, QUICK, kernels="avx512")
        self.assertIn("over_eigen 1.67 ≥ 1.5", self.line(made, "bench_mlp/evaluate/independent/avx512"))
        self.assertNotIn("over_eigen", self.line(made, "bench_mlp/evaluate/independent/avx2+fma"))

    def test_peers_that_are_missing_are_named(self):
        made = table(QUIET, QUICK)
        self.assertEqual(made.returncode, 0, made)
        self.assertIn("Peers that are not in this build: rtneural.", made.stdout)
        self.assertIn("over_eigen: not there", made.stdout)

    def test_noise_is_told_by_the_floors(self):
        self.assertIn("Quiet: no floor moved by more than 2.0% between repetitions", table(QUIET, QUICK).stdout)
        noisy = table(evaluate("avx2+fma", [100, 112], [126, 130]), QUICK)
        self.assertIn("NOISY: in 1 of 1 rows", noisy.stdout)
        self.assertIn("the most, 12%, in bench_mlp/evaluate/independent/avx2+fma", noisy.stdout)
        self.assertIn("Load average at the start of the programs: 0.25", noisy.stdout)
        self.assertIn("whether the machine was quiet is not known", table(QUIET[:1], QUICK).stdout)

    def test_a_row_that_was_not_measured_is_missed(self):
        made = table(QUIET, None)
        self.assertEqual(made.returncode, 1, made)
        self.assertIn("NOT MEASURED: bench_decide/prepared/*: no such row", made.stdout)
        failed = [{"name": "prepared/10", "error_occurred": True, "error_message": "no counter"}]
        made = table(QUIET, failed)
        self.assertEqual(made.returncode, 1, made)
        self.assertIn("NOT MEASURED: bench_decide/prepared/10: no counter", made.stdout)

    def test_a_filter_leaves_other_bars_out(self):
        made = table(QUIET, [], "--filter", "bench_mlp")
        self.assertEqual(made.returncode, 0, made)
        self.assertNotIn("bench_decide", made.stdout)

    def test_a_program_that_only_counts_items_has_a_rate(self):
        bars = [{"row": "bench_mlp/pushes", "counter": "items_per_second", "least": 5e6}]
        rows = [repetition("pushes", i, items_per_second=rate) for i, rate in enumerate((4e6, 6e6))]
        made = table(rows, None, bars=bars)
        self.assertEqual(made.returncode, 0, made)
        self.assertIn("items_per_second 6,000,000 ≥ 5,000,000", made.stdout)

    def test_rows_of_one_kind_are_held_together(self):
        bars = [{"row": "bench_mlp/clock/*", "counter": "min", "spread": 1.8}]
        for most, status in ((17.9, 0), (18.1, 1)):
            rows = [repetition(f"clock/{k}", min=ns) for k, ns in ((10, 10.0), (1000, most), (100000, 12.0))]
            made = table(rows, None, bars=bars)
            self.assertEqual(made.returncode, status, made)
            self.assertIn("min over the least of its kind 1.", self.line(made, "bench_mlp/clock/1000"))
            self.assertEqual("FALLS SHORT" in self.line(made, "bench_mlp/clock/1000"), status == 1)

    def test_of_a_rate_the_most_counts(self):
        bars = [{"row": "bench_mlp/pushes", "counter": "M_pushes", "least": 5}]
        rows = [repetition("pushes", i, min=200.0, M_pushes=rate) for i, rate in enumerate((4.8, 5.1))]
        self.assertEqual(table(rows, None, bars=bars).returncode, 0)

    def test_aggregates_are_not_repetitions(self):
        mean = {**repetition("evaluate/independent/avx2+fma", min=1.0, floor=100.0), "run_type": "aggregate"}
        self.assertIn("| 126 ns |", table(QUIET + [mean], QUICK).stdout)

    def test_a_page_gets_the_table_between_its_marks(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text("before\n<!-- bench/run.sh -->\nold\n<!-- end of bench/run.sh -->\nafter\n")
            made = table(QUIET, QUICK, "--page", str(page), "--heading", "a day")
            self.assertEqual(made.returncode, 0, made)
            text = page.read_text()
            self.assertTrue(text.startswith("before\n<!-- bench/run.sh -->\na day\n\n| row |"), text)
            self.assertTrue(text.endswith("not measured.\n<!-- end of bench/run.sh -->\nafter\n"), text)
            page.write_text("no marks")
            self.assertNotEqual(table(QUIET, QUICK, "--page", str(page)).returncode, 0)
            self.assertEqual(page.read_text(), "no marks")

    def test_the_bars_of_the_repository_are_sound(self):
        made = subprocess.run([sys.executable, SCRIPT, "/dev/null", "--print-only"], text=True, capture_output=True,
                              check=False)
        self.assertEqual(made.returncode, 0, made)
        self.assertIn("- NOT MEASURED: bench_mlp/evaluate/independent/avx2+fma: no such row", made.stdout)


if __name__ == "__main__":
    unittest.main()
