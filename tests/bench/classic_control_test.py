#!/usr/bin/env python3
"""The experiment classic_control refuses what it cannot do before it trains for minutes.

usage: classic_control_test.py PROGRAM
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest


def refused(*words):
    """Standard error of a call that must end with 2, with nothing on standard output."""
    made = subprocess.run([PROGRAM, "cartpole", "0", "0", *words], text=True, capture_output=True, timeout=60, check=False)
    assert (made.returncode, made.stdout) == (2, ""), made
    return made.stderr


class ClassicControl(unittest.TestCase):
    def test_an_unknown_variant(self):
        expected = 'classic_control: found "duelling", expected plain, dueling, prioritised or ppo\n'
        with tempfile.TemporaryDirectory() as folder:
            curves = pathlib.Path(folder, "curves.csv")
            self.assertEqual(refused(curves, "duelling"), expected)
            self.assertFalse(curves.exists())

    def test_curves_that_cannot_be_opened(self):
        with tempfile.TemporaryDirectory() as folder:
            curves = pathlib.Path(folder, "none", "curves.csv")
            self.assertEqual(refused(curves), f"classic_control: {curves}: cannot be written\n")

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "no /dev/full")
    def test_curves_for_which_there_is_no_room(self):
        self.assertEqual(refused("/dev/full"), "classic_control: /dev/full: cannot be written\n")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
