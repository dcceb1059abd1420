#!/usr/bin/env python3
"""What advise.py and advise_on_threads.py make of results that are known, and that docs/advise.md has what they make of those
that are recorded."""
import csv
import importlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "bench/experiments"
RESULTS = SCRIPTS / "results"
sys.path.insert(0, str(SCRIPTS))
advise = importlib.import_module("advise")


def row(number, policy, rule, **other):
    usual = {"number": number, "workers": 4, "cores": 0, "stragglers": "none", "hidden_layers": 0, "log_policy": policy, "steps": 300,
             "fitted_cores": 0, "fitted_stragglers": "none", "best": "knee", "keep": 0, "rule": rule, "predicted": 10, "low": 8,
             "high": 12, "gain": 1, "gain_low": 0.5, "gain_high": 1.5, "measured": 20 if rule == policy else 10,
             "deviation": 0.01, "covered": 6, "runs": 6, "reached": 6}
    return usual | other


def lost(number, policy):
    return dict.fromkeys(advise.COLUMNS, "") | {"number": number, "log_policy": policy, "best": "log did not arrive"}


def tables(script, rows, columns=tuple(advise.COLUMNS)):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "results.csv")
        with open(file, "w", encoding="utf-8", newline="") as to:
            write = csv.DictWriter(to, columns, extrasaction="ignore")
            write.writeheader()
            write.writerows(rows)
        done = subprocess.run([sys.executable, SCRIPTS / script, "table", file], text=True, capture_output=True, check=True)
    return done.stdout


def cells(text, first):
    line = next(line for line in text.splitlines() if line.startswith(f"| {first}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


class Tables(unittest.TestCase):
    def test_rules_that_arrive_too_rarely_are_counted_apart(self):
        rows = [row(1, "asp", "asp"), row(1, "asp", "knee"), row(1, "asp", "bsp:sum", predicted="", covered=0)]
        held_out = cells(tables("advise.py", rows), "held out: 1")
        self.assertEqual(held_out[1:3], ["100 % [100, 100]", "67 % [67, 67]"])

    def test_each_rule_weighs_the_same_however_often_it_was_measured(self):
        rows = [row(1, "asp", "asp", covered=0), row(1, "asp", "knee", covered=26, runs=26)]
        self.assertEqual(cells(tables("advise.py", rows), "held out: 1")[1], "50 % [50, 50]")

    def test_gains_are_held_against_what_was_measured(self):
        rows = [row(1, "asp", "asp"), row(1, "asp", "knee"), row(1, "asp", "ssp:1", measured=5)]
        self.assertEqual(cells(tables("advise.py", rows), "held out: 1")[3], "50 % [50, 50]")

    def test_gains_are_held_within_the_error_of_what_was_measured(self):
        rows = [row(1, "asp", "asp"), row(1, "asp", "knee", measured=7)]
        held = lambda deviation: cells(tables("advise.py", [r | {"deviation": deviation} for r in rows]), "held out: 1")[3]
        self.assertEqual((held(0.01), held(0.3)), ("0 % [0, 0]", "100 % [100, 100]"))

    def test_older_files_have_no_column_for_gains(self):
        old = [column for column in advise.COLUMNS if column != "gain_high"]
        self.assertEqual(cells(tables("advise.py", [row(1, "asp", "asp"), row(1, "asp", "knee")], old), "held out: 1")[3], "-")

    def test_intervals_are_over_clusters_and_not_over_runs(self):
        even = [(50, 100)] * 20
        apart = [(0, 100), (100, 100)] * 10
        self.assertEqual(advise.over_clusters(even), " [50, 50]")
        low, high = map(int, advise.over_clusters(apart).strip(" []").split(","))
        self.assertTrue(20 <= low <= 40 and 60 <= high <= 80, (low, high))

    def test_logs_of_one_cluster_are_not_taken_for_clusters(self):
        rows = [row(1, policy, rule) for policy in advise.LOGGED for rule in ("asp", "ssp:3", "bsp:sum", "knee")]
        of_all = cells(tables("advise_on_threads.py", rows), "all")
        self.assertEqual(of_all[1:3], ["1", "3"])

    def test_clusters_where_no_log_arrives_are_counted(self):
        rows = [row(1, "asp", "asp"), row(1, "asp", "knee"), lost(1, "ssp:3"), *(lost(2, policy) for policy in advise.LOGGED)]
        self.assertIn("Left out: 4 logs whose run did not arrive, and with them 1 clusters that have no other.",
                      tables("advise_on_threads.py", rows))

    def test_rows_of_another_version_are_not_gone_on_with(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "results.csv")
            file.write_text("number,rule\n1,asp\n")
            with self.assertRaises(SystemExit):
                advise.rows_to_go_on_with(file)
            file.write_text(",".join(advise.COLUMNS) + "\n")
            self.assertEqual(advise.rows_to_go_on_with(file), [])


class Recorded(unittest.TestCase):
    def test_the_page_has_the_tables(self):
        page = (ROOT / "docs/advise.md").read_text(encoding="utf-8")
        for name in ("advise", "advise_on_threads"):
            done = subprocess.run([sys.executable, SCRIPTS / f"{name}.py", "table", RESULTS / f"{name}.csv"], text=True,
                                  capture_output=True, check=True)
            for table in (part for part in done.stdout.split("\n\n") if part.startswith("|")):
                self.assertTrue(f"\n\n{table.strip()}\n\n" in page, f"docs/advise.md has not this table:\n{table}")

    def test_rows_are_of_the_recorded_runs(self):
        on_threads = importlib.import_module("advise_on_threads")
        with open(RESULTS / "advise_on_threads.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(RESULTS / "advise_on_threads.tar.xz") as archive:
                archive.extractall(folder)
            runs = {path.parent.name: on_threads.runs_of(path.parent) for path in pathlib.Path(folder).glob("*/logged.json")}
        self.assertEqual(len(runs), 14)
        self.assertEqual({(row["number"], row["rule"]) for row in rows}, {(n, rule) for n in runs for rule in advise.RULES})
        for row in rows:
            times, limit = runs[row["number"]]
            of_rule = times[row["rule"]]
            self.assertEqual(row["measured"], f"{advise.mean_time(of_rule):.5g}")
            self.assertEqual(int(row["runs"]), len(of_rule))


if __name__ == "__main__":
    unittest.main()
