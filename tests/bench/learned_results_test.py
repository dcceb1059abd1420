#!/usr/bin/env python3
"""The tables of docs/learned.md are those that rule_tables.py makes of bench/experiments/results."""
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/experiments/results"


def tables_of(name):
    """The tables of results/NAME.tar.xz."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(RESULTS / f"{name}.tar.xz") as archive:
            archive.extractall(folder)
        script = ROOT / "bench/experiments/rule_tables.py"
        made = subprocess.run([sys.executable, script, name, folder], text=True, capture_output=True, check=True)
    return made.stdout.strip().split("\n\n")


class LearnedResults(unittest.TestCase):
    def test_the_page_has_the_tables(self):
        page = (ROOT / "docs/learned.md").read_text(encoding="utf-8")
        for name in ("learned", "ablations"):
            for table in tables_of(name):
                self.assertGreater(len(table.splitlines()), 2, name)
                self.assertIn(f"\n\n{table}\n\n", page)  # whole, and with nothing else

    def test_they_are_small(self):
        self.assertLess(sum(path.stat().st_size for path in RESULTS.iterdir()), 5_000_000)


if __name__ == "__main__":
    unittest.main()
