#!/usr/bin/env python3
"""Configures the `cmake` blocks of README, docs/ and the READMEs of integrations, each in a project of its own, as it
stands: with find_package against an installation of the tree, with add_subdirectory or FetchContent against the tree. What a
block gives libraries to is a program of nothing, what it links of other projects an empty library.

usage: cmake_blocks.py ROOT      exit status 1 and what CMake said if something is wrong; 77 if nothing is, but a block
                                 names a component whose engine is not installed
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs"))
from pages import pages

BLOCK = re.compile(r"^```cmake\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINKED = re.compile(r"target_link_libraries\((\w+) \w+ ([^)]*)\)")
# Of the first error. That a target was not found is none of these: it may be misspelled.
MISSING_ENGINE = re.compile(r"\ACMake Error at [^:]*:\d+ \(\w+\):\s+(?:Could NOT find|Could not find a package)")


def cmake(*words):
    return subprocess.run(["cmake", *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def project_of(block):
    lines = ["cmake_minimum_required(VERSION 3.24)", "project(block LANGUAGES CXX)"]
    programs = {match[1] for match in LINKED.finditer(block)}
    others = {word for match in LINKED.finditer(block) for word in match[2].split() if "::" not in word}
    lines += [f'file(WRITE "${{CMAKE_BINARY_DIR}}/{name}.cpp" "int main() {{}}")\n'
              f'add_executable({name} "${{CMAKE_BINARY_DIR}}/{name}.cpp")' for name in sorted(programs)]
    lines += [f"add_library({name} INTERFACE)" for name in sorted(others)]
    return "\n".join([*lines, block])


def main(arguments):
    root = pathlib.Path(arguments[0]).resolve()
    status, left_out = 0, []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for step in (["-S", root, "-B", folder / "library"], ["--install", folder / "library", "--prefix", folder / "installed"]):
            if (done := cmake(*step)).returncode != 0:
                sys.exit(done.stdout)
        for page in pages(root):
            text = page.read_text(encoding="utf-8")
            for block in BLOCK.finditer(text):
                where = f"{page.relative_to(root)}:{text.count(chr(10), 0, block.start()) + 1}"
                project = folder / re.sub(r"\W", "_", where)
                project.mkdir()
                (project / "CMakeLists.txt").write_text(project_of(block[1]), encoding="utf-8")
                (project / "rubato").symlink_to(root)
                done = cmake("-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={folder / 'installed'}",
                             f"-DFETCHCONTENT_SOURCE_DIR_RUBATO={root}")
                if done.returncode != 0 and MISSING_ENGINE.match(done.stdout[done.stdout.find("CMake Error"):]):
                    left_out.append(where)
                elif done.returncode != 0:
                    print(f"error: {where}:\n{done.stdout}")
                    status = 1
    if left_out:
        print(f"left out, since an engine is not installed: {', '.join(left_out)}")
    return status or (77 if left_out else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
