#!/usr/bin/python3
"""A template is told from others of its name and from those that only name it; branches of exceptions are left out.
Ends with 77 where libclang is missing.

usage: self_test.py
"""
import sys
import unittest

try:
    import run
    import templates
except ImportError:
    sys.exit(77)

NAMESPACE = "rubato::v0_1_checked::"


class Symbols(unittest.TestCase):
    def instances(self, symbol):
        return templates.prefixes(templates.entity_of(templates.INLINE.sub("rubato::", symbol)))

    def test_members_and_functions_are_instances(self):
        for symbol, found in (
                (f"{NAMESPACE}gate<int, 3>::wait(std::function<void (int)>) const", ["rubato::gate"]),
                (f"void {NAMESPACE}sim::simulate<{NAMESPACE}bsp, (a)1>(int&)", ["rubato::sim::simulate"]),
                (f"{NAMESPACE}outbox<int>::operator->() const", ["rubato::outbox"]),
                (f"bool {NAMESPACE}gate<int>::leave<char>(char) [clone .cold]",
                 ["rubato::gate", "rubato::gate::leave"])):
            self.assertEqual(self.instances(symbol), found)

    def test_whoever_only_names_a_template_is_none(self):
        gate = f"{NAMESPACE}gate<int>"
        for symbol in (f"std::vector<{gate}, std::allocator<{gate}>>::size() const", f"f({gate} const&)"):
            self.assertNotIn("rubato::gate", self.instances(symbol))
        self.assertEqual(self.instances(f"{gate} {NAMESPACE}made<char>({gate})"), ["rubato::made"])

    def test_a_name_elsewhere_is_another(self):
        self.assertEqual(self.instances("other::gate<int>::wait()"), ["other::gate"])
        self.assertEqual(self.instances(f"{NAMESPACE}detail::gate<int>::wait()"), ["rubato::detail::gate"])


class Branches(unittest.TestCase):
    def test_those_of_a_call_that_may_throw_are_left_out(self):
        branches = [{"throw": False, "count": 3}, {"throw": False, "count": 1}, {"throw": False, "count": 9},
                    {"throw": True, "count": 0}]
        self.assertEqual(run.without_throws(branches), [3, 1])

    def test_instances_that_gcov_keeps_together_are_taken_apart(self):
        many = [1, 0] + [0, 0] * 10 + [0, 2]
        self.assertEqual(run.folded({24: many, 48: 2 * many}), [[3, 0] + [0, 0] * 10 + [0, 6]])
        self.assertEqual(run.folded({24: many, 22: [0] * 22}), [[1, 2]])
        self.assertEqual(run.folded({2: [0, 5], 4: [1, 0, 0, 0]}), [[0, 5], [1, 0, 0, 0]])
        self.assertEqual(run.folded({0: [], 2: [1, 1]}), [[1, 1]])


if __name__ == "__main__":
    unittest.main()
