#!/usr/bin/env python3
"""What advise.py and advise_on_threads.py make of results that are known."""
import csv
import importlib
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "bench/experiments"
sys.path.insert(0, str(SCRIPTS))
advise = importlib.import_module("advise")


def row(number, policy, rule, **other):
    usual = {"number": number, "workers": 4, "cores": 0, "stragglers": "none", "hidden_layers": 0, "log_policy": policy, "steps": 300,
             "fitted_cores": 0, "fitted_stragglers": "none", "best": "knee", "keep": 0, "rule": rule, "predicted": 10, "low": 8,
             "high": 12, "gain": 1, "gain_low": 0.5, "gain_high": 1.5, "measured": 20 if rule == policy else 10, "covered": 6,
             "runs": 6, "reached": 6}
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


if __name__ == "__main__":
    unittest.main()
