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


class Headers(unittest.TestCase):
    def test_bodies_are_code(self):
        for text in ("template <class T> void f(T& x) { x = 1; }", "inline int g() { return 1; }",
                     "struct a { void f() const noexcept(true) override { n = 1; } };",
                     "struct a { a(int x) : x{x} {} };",
                     "template <class T> void f(T& x) requires big<T> { x = 1; }",
                     "void f(auto& x) requires(sizeof(x) > 1) { x = 1; }", "auto f(int& x) -> void { x = 1; }",
                     "void f(int (*g)(int))\n{\n  g(1);\n}"):
            self.assertTrue(run.has_code(text), text)

    def test_declarations_are_none(self):
        for text in ("void f(int& x);", "struct a {\n  int x{3};\n};", "// void f() { x = 1; }\nstruct a;",
                     "template <class T>\nconcept c = d<T> && requires(T& x) { x.f(); };",
                     "#define BODY(x) \\\n  void x() { y = 1; }\nstruct a {};",
                     "namespace a {\ninline constexpr int b[]{1, 2};\n}",
                     "struct a {\n  int (*f)(int);\n};\nenum class b : int { c };",
                     "static_assert(a<b>);\nstruct c {};"):
            self.assertFalse(run.has_code(text), text)


class Table(unittest.TestCase):
    def test_rows_are_sums(self):
        sums = {"core": (10, 9, 4, 3), ".": (1, 1, 0, 0), "sync": (1000, 999, 8, 4), "sync/rivals": (200, 100, 2, 1),
                "all": (1211, 1109, 14, 8)}
        rows = run.table(sums).split("\n")
        self.assertEqual(len(rows), 2 + 7)
        self.assertEqual(rows[2], "| `core/` | 10 | 90.0 % | 4 | 75.0 % |")
        self.assertEqual(rows[3], "| `sync/` with `extras/` and `rivals/` | 1,200 | 91.6 % | 10 | 50.0 % |")
        self.assertEqual(rows[-1], "| all | 1,211 | 91.6 % | 14 | 57.1 % |")

    def test_no_folder_is_forgotten(self):
        with self.assertRaises(SystemExit):
            run.table({"new": (1, 1, 0, 0)})


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
