#!/usr/bin/env python3
"""packaging/single_header.py: an example compiles against what it makes, also with an umbrella that is not in it usually;
what cannot be put into one file is refused."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from common import ROOT, equal, run

SCRIPT = ROOT / "packaging" / "single_header.py"
COMPILER = os.environ.get("CXX") or shutil.which("g++") or "clang++"

OTHER = "#ifndef RUBATO_OTHER_HPP\n#define RUBATO_OTHER_HPP\n#endif"


def compiles(folder, header, source):
    """In the strictest mode: a user's project includes it by a path of its own."""
    run(sys.executable, SCRIPT, *header)
    program = pathlib.Path(folder, "program.cpp")
    program.write_text(source, encoding="utf-8")
    run(COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
        program)


def example(name):
    source = (ROOT / "examples" / name).read_text(encoding="utf-8")
    assert "#include <rubato/rubato.hpp>\n" in source, name
    return source.replace("#include <rubato/rubato.hpp>", '#include "single.hpp"')


def refuses(folder):
    """An include that is not at the start of its line, and a header first included under a condition."""
    tree = pathlib.Path(folder, "tree")
    for line, said in (('  #include "other.hpp"', '#include "other.hpp" is still there'),
                       ('#if X\n#include "other.hpp"\n#endif', "other.hpp is first included under a condition")):
        for name, text in (("rubato.hpp", line), ("other.hpp", OTHER)):
            path = tree / "include" / "rubato" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        shutil.copy(ROOT / "include/rubato/version.hpp", tree / "include/rubato")
        (tree / "packaging").mkdir(exist_ok=True)
        shutil.copy(SCRIPT, tree / "packaging")
        done = subprocess.run([sys.executable, tree / "packaging" / SCRIPT.name, tree / "out.hpp", "rubato.hpp"],
                              capture_output=True, text=True, check=False)
        assert done.returncode and said in done.stderr and "Traceback" not in done.stderr, f"{line}: {done.stderr}"


def includes_with_a_comment(folder):
    """Become the header's text, as others do."""
    tree = pathlib.Path(folder, "tree/include/rubato")
    (tree / "rubato.hpp").write_text('#include "other.hpp"  // why\n', encoding="utf-8")
    run(sys.executable, tree.parents[1] / "packaging" / SCRIPT.name, tree / "out.hpp", "rubato.hpp")
    equal("text of a header included with a comment", "#define RUBATO_OTHER_HPP" in (tree / "out.hpp").read_text(), True)


def main():
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory() as folder:
        refuses(folder)
        includes_with_a_comment(folder)
        out = pathlib.Path(folder, "single.hpp")
        compiles(folder, [out], example("01_push_handler.cpp"))
        compiles(folder, [out, "rubato.hpp", "rivals.hpp", "io.hpp", "rl.hpp", "sim.hpp"],
                 '#include "single.hpp"\nint main() { static_cast<void>(rubato::policy_card{}); }\n')


if __name__ == "__main__":
    main()
