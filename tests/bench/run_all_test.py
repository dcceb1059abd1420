#!/usr/bin/env python3
"""bench/experiments/run_all.sh, with programs that only say what they were asked for."""
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench/experiments/run_all.sh"
PROGRAM = """#!/bin/sh
[ "$1" = --version ] && { echo "rubato-lab 0"; exit 0; }
echo "$(basename "$0") $*" | tee -a "$(dirname "$0")/calls"
case " $* " in *" shared4 "*) exit 1;; esac
"""


class RunAll(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.bin = self.root / "build/bin"
        self.bin.mkdir(parents=True)
        (self.root / "data").mkdir()
        for name in ("rubato-lab", "stigmergy", "online_jobs", "classic_control"):
            (self.bin / name).write_text(PROGRAM, encoding="utf-8")
            (self.bin / name).chmod(0o755)

    def run_all(self, *names, options=()):
        return subprocess.run(["bash", SCRIPT, *options, self.root / "build", self.root / "out", self.root / "data", *names],
                              text=True, capture_output=True, check=False)

    def calls(self):
        path = self.bin / "calls"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def test_makes_what_is_named_and_keeps_what_it_prints(self):
        done = self.run_all("table1")
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = ["rubato-lab experiment table1 --scenario table1", "rubato-lab experiment table1 --scenario table1-ideal"]
        self.assertEqual(self.calls(), expected)
        self.assertEqual((self.root / "out/table1.txt").read_text(encoding="utf-8").splitlines(), expected)
        self.assertRegex((self.root / "out/table1.done").read_text(encoding="utf-8"), r"^\d{4}-\d\d-\d\d, .*, rubato-lab 0\n$")

    def test_says_before_how_long_it_takes(self):
        self.assertEqual(self.run_all("table1", "fig3").stdout.splitlines()[0],
                         "2 experiments, about 0 h 41 min on two cores")

    def test_what_is_done_is_not_made_again(self):
        self.run_all("table1")
        again = self.run_all("table1")
        self.assertEqual(again.stdout, "1 experiments, about 0 h 00 min on two cores\n")
        self.assertEqual(len(self.calls()), 2)

    def test_what_failed_is_said_and_made_again(self):
        failed = self.run_all("fig2_shared4", "table1")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("fig2_shared4             FAILED, see ", failed.stdout)
        self.assertTrue((self.root / "out/table1.done").exists(), "the others are made all the same")
        self.assertFalse((self.root / "out/fig2_shared4.done").exists())
        self.assertFalse((self.root / "out/fig2_shared4.txt").exists())
        self.run_all("fig2_shared4")
        self.assertEqual(sum("shared4" in call for call in self.calls()), 2)

    def test_the_list_makes_nothing(self):
        listed = self.run_all(options=("--list",))
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(self.calls(), [])
        *experiments, total = listed.stdout.splitlines()
        minutes = sum(int(re.search(r" (\d+) min$", line)[1]) for line in experiments)
        self.assertEqual(total, f"{len(experiments)} experiments, about {minutes // 60} h {minutes % 60:02} min on two cores")
        for line in experiments:
            self.assertTrue((ROOT / "docs" / line.split()[1]).is_file(), line)

    def test_bad_names_are_refused(self):
        refused = self.run_all("tabel1")
        self.assertEqual(refused.returncode, 2)
        self.assertTrue(refused.stderr.startswith('run_all.sh: found "tabel1", expected one of rules knee '), refused.stderr)

    def test_a_build_without_the_programs_is_refused(self):
        (self.bin / "online_jobs").unlink()
        refused = self.run_all("table1")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("lacks bin/online_jobs: build the targets rubato-lab and experiments", refused.stderr)
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    unittest.main()
