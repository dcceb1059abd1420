#!/usr/bin/env python3
"""The layering check finds what it is for: each case is a small tree and the one finding it must give."""
import pathlib
import tempfile
import unittest

import check


def findings(files):
    """Errors of a tree {path below include/rubato: content}."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = pathlib.Path(folder, "include", "rubato", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return check.check(folder)


class Layers(unittest.TestCase):
    def expect_error(self, files, text):
        errors, _ = findings(files)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn(text, errors[0])

    def test_downward_includes_are_accepted(self):
        tree = {
            "config.hpp": "", "core/a.hpp": '#include <vector>\n#include "../config.hpp"\n',
            "sync/b.hpp": '#include "../core/a.hpp"\n', "sync/rivals/c.hpp": '#include "../b.hpp"\n',
            "nn/kernels/avx2.hpp": '#include <immintrin.h>\n#include "../mlp.hpp"\n',
            "nn/mlp.hpp": '#include "../core/a.hpp"\n',
            "rubato.hpp": '#include "nn/kernels/avx2.hpp"\n#include "sync/rivals/c.hpp"\n',
            "adapt/train/d.hpp": '#include "../../core/a.hpp"\n',
        }
        self.assertEqual(findings(tree), ([], []))

    def test_upward_include(self):
        self.expect_error({"core/a.hpp": '# include "../sync/b.hpp"\n', "sync/b.hpp": ""}, "core/a.hpp:1: upward")

    def test_subfolder_is_a_layer_of_its_own(self):
        self.expect_error({"sync/a.hpp": '#include "rivals/b.hpp"\n', "sync/rivals/b.hpp": ""}, "upward")

    def test_subfolder_that_is_not_listed_belongs_to_its_parent(self):
        self.expect_error({"nn/kernels/a.hpp": '#include "../../io/b.hpp"\n', "io/b.hpp": ""}, "nn may include core")

    def test_embedding_umbrella_never_pulls_the_simulator(self):
        self.expect_error({"rubato.hpp": '#include "sim/a.hpp"\n', "sim/a.hpp": ""}, "upward")

    def test_header_that_the_umbrella_lacks(self):
        tree = {"rubato.hpp": "", "rivals.hpp": '#include "sync/rivals/a.hpp"\n', "sync/rivals/a.hpp": '#include "b.hpp"\n',
                "sync/rivals/b.hpp": "", "sync/rivals/c.hpp": "", "sim/d.hpp": "", "sync/extras/e.hpp": ""}
        self.expect_error(tree, "sync/rivals/c.hpp: rubato.hpp and rivals.hpp and io.hpp do not include it")

    def test_umbrella_is_for_users_only(self):
        self.expect_error({"rubato.hpp": '#include "core/a.hpp"\n', "core/a.hpp": '#include "../rubato.hpp"\n'}, "umbrella")

    def test_angle_brackets_inside_the_library(self):
        self.expect_error({"core/a.hpp": "#include <rubato/core/b.hpp>\n"}, "relative")

    def test_third_party_include(self):
        self.expect_error({"io/a.hpp": "#include <nlohmann/json.hpp>\n"}, "not a standard header")

    def test_long_line(self):
        self.expect_error({"core/a.hpp": "// " + "x" * 118 + "\n"}, "core/a.hpp:1: 121 columns")

    def test_header_that_its_page_does_not_mention(self):
        tree = {"core/a.hpp": "", "core/b.hpp": "", "../../docs/core.md": "| `b.hpp` | told |"}
        self.expect_error(tree, "core/a.hpp: not mentioned in docs/core.md")

    def test_page_of_a_subfolder_has_its_name(self):
        tree = {"sync/rivals/a.hpp": "", "sync/rivals/b.hpp": "", "../../docs/rivals.md": "| `b.hpp` | told |"}
        self.expect_error(tree, "sync/rivals/a.hpp: not mentioned in docs/rivals.md")

    def test_missing_file(self):
        self.expect_error({"core/a.hpp": '#include "b.hpp"\n'}, "no such file")

    def test_unknown_folder(self):
        self.expect_error({"util/a.hpp": ""}, "not in the table")

    def test_core_and_sync_line_budget_ignores_rivals(self):
        budget = check.CORE_AND_SYNC_LINES
        tree = {f"core/{i}.hpp": "//\n" * min(400, budget - i) for i in range(0, budget, 400)}
        tree["sync/rivals/a.hpp"] = "//\n" * 500
        self.assertEqual(findings(tree), ([], []))
        self.expect_error(tree | {"sync/a.hpp": "//\n"}, f"{budget + 1} lines")

    def test_long_files(self):
        errors, warnings = findings({"sim/a.hpp": "//\n" * 501})
        self.assertEqual((errors, len(warnings)), ([], 1))
        self.expect_error({"sim/a.hpp": "//\n" * 601}, "601 lines")

    def test_empty_tree(self):
        self.expect_error({"readme.txt": ""}, "no headers")


if __name__ == "__main__":
    unittest.main()
