#!/usr/bin/env python3
"""How counts.txt is read, and what check.py makes of counts that have moved."""
import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).with_name("check.py")
spec = importlib.util.spec_from_file_location("check", SCRIPT)
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)

FIRST = "2026-11-23 gcc-12 avx2+fma decision 1000\n"
KEY = ("gcc-12", "avx2+fma", "decision")


class Counts(unittest.TestCase):
    def test_the_last_line_counts(self):
        latest, wrong = check.parse("# a comment\n" + FIRST + "2026-11-24 gcc-12 avx2+fma decision 900\n")
        self.assertEqual(latest, {KEY: (900, "2026-11-24")})
        self.assertEqual(wrong, [])

    def test_a_raised_count_needs_a_reason(self):
        _, wrong = check.parse(FIRST + "2026-11-24 gcc-12 avx2+fma decision 1031\n")
        self.assertEqual(wrong, ["counts.txt:2: raises gcc-12 avx2+fma decision from 1000 without a reason"])
        _, wrong = check.parse(FIRST + "2026-11-24 gcc-12 avx2+fma decision 1031 one more check of times\n")
        self.assertEqual(wrong, [])

    def test_lines_are_in_order_and_whole(self):
        self.assertEqual(check.parse(FIRST + "2026-11-22 gcc-12 avx2+fma decision 900\n")[1],
                         ["counts.txt:2: older than the line before it"])
        self.assertEqual(check.parse("yesterday gcc decision\n")[1],
                         ["counts.txt:1: expected DATE COMPILER KERNELS OPERATION COUNT [REASON]"])

    def test_three_percent_more_is_tolerated(self):
        latest, _ = check.parse(FIRST)
        for count, verdict in ((1030, "same"), (970, "same"), (1031, "more"), (969, "less")):
            self.assertEqual(check.judge({KEY: count}, latest), {KEY: verdict}, count)

    def test_another_compiler_is_not_recorded(self):
        latest, _ = check.parse(FIRST)
        other = ("gcc-13", *KEY[1:])
        self.assertEqual(check.judge({other: 5}, latest), {other: "new"})

    def test_the_lines_of_the_repository_are_sound(self):
        self.assertEqual(check.parse(check.RECORDED.read_text(encoding="utf-8"))[1], [])


if __name__ == "__main__":
    unittest.main()
