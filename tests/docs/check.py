#!/usr/bin/env python3
"""Checks that the documentation tells the truth about the tree.

- Links of README, CONTRIBUTING, CHANGELOG, docs/ and the READMEs of integrations lead to files, and to headings in them;
  those to other sites are not followed.
- The first C++ block of the README is examples/00_straggler.cpp, and it compiles with each policy that the paragraph
  after it names in its place.
- C++ blocks compile; those with a main() also run, and end with 0. One that does not begin with an #include is a part
  of something: the comment before it, `<!-- in FILE -->`, names a file in whose line `// BLOCK` it stands.
- Lines of prose are not too long.
- The limits of SECURITY.md stand where it says, and the tests that it names exist.
- Every test that a docstring names ("Tests   path: Name, Name") exists in the file that it names, and that entry
  begins a line.

usage: check.py [ROOT]      exit status 1 and one line per finding if something is wrong; 77 if nothing is, but blocks
                            need what is not installed. CXX: the compiler.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs"))
from pages import pages

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
BLOCK = re.compile(r"^(?:<!-- in (\S+) -->\n)?```cpp\n(.*?)^```$", re.DOTALL | re.MULTILINE)
POLICY_LINE = re.compile(r"^(\s*auto policy = ).*;$", re.MULTILINE)
TESTS = re.compile(r"^\s*/// Tests  +(.*(?:\n\s*///         +.*)*)", re.MULTILINE)
FOLDED = re.compile(r"^\s*///(?! Tests  ).*\bTests  +tests/.*$", re.MULTILINE)
TEST_FILE = re.compile(r"(tests/[\w./]+)(?::\s*([^;/]*))?")
TEST_NAME = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)|\bTYPED_TEST\(\s*(\w+)\s*,\s*(\w+)\s*\)")
WIDTH = 140  # of lines, tables and code apart
KERNELS, TORCH_HEADERS = "kernels.o", "torch_headers.hpp"
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++") or "clang++"


def include_folders(root):
    """The library's, and those of integrations."""
    return [f"-I{folder}" for folder in [root / "include", *sorted((root / "integrations").glob("*/include"))]]


def prose(page):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """Of a page's headings, as GitHub makes them."""
    text = prose(page)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def check_links(root):
    for page in pages(root):
        for target, anchor in LINK.findall(prose(page)):
            if target.startswith(("http://", "https://")):
                continue
            there = page.parent / target if target else page
            if not there.exists():
                yield f"{page.relative_to(root)}: the link {target} leads nowhere"
            elif anchor and there.suffix == ".md" and anchor not in anchors(there):
                yield f"{page.relative_to(root)}: {target or 'the page'} has no heading #{anchor}"


def check_widths(root):
    for page in pages(root):
        for line in prose(page).splitlines():
            if len(line) > WIDTH and not line.startswith(("|", "![", "    ")) and " " in line.strip():
                yield f"{page.relative_to(root)}: {len(line)} columns, expected {WIDTH} at most: {line[:60]} ..."


def engine_options(source):
    """What a block needs that includes torch, Gloo or MPI, where Debian's packages are installed; None where they are not."""
    if re.search(r"#include <rubato/(gloo_ps/(gloo_link|rendezvous|stores)|libtorch/averaging_group)\.hpp>", source) and \
            not pathlib.Path("/usr/include/gloo").is_dir():
        return None
    if "#include <torch/" in source:
        headers = pathlib.Path("/usr/include/torch/csrc/api/include")
        return ["-isystem", headers, "-DUSE_C10D_GLOO", "-ltorch", "-ltorch_cpu", "-lc10"] if headers.is_dir() else None
    if "#include <rubato/mpi_ps/" in source:
        if not shutil.which("mpicxx"):
            return None
        options = subprocess.run(["mpicxx", "--showme:compile"], text=True, capture_output=True, check=False).stdout.split()
        return ["-DOMPI_SKIP_MPICXX", *(option.replace("-I", "-isystem", 1) for option in options)]
    return []


def command(root, *more):
    return [COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-pthread", *include_folders(root), *more]


def compile_once(root, folder):
    """What would take half a minute in one block after another: the kernels, and torch's headers."""
    headers = folder / TORCH_HEADERS
    headers.write_text("#include <torch/nn.h>\n#include <torch/optim.h>\n", encoding="utf-8")
    engine = engine_options(headers.read_text(encoding="utf-8"))
    jobs = [command(root, "-O2", "-DRUBATO_EXTERN_KERNELS", "-c", root / "cmake/kernels.cpp", "-o", folder / KERNELS)]
    if engine is not None:
        jobs.append(command(root, *engine, "-x", "c++-header", "-c", headers, "-o", f"{headers}.gch"))
    for job in [subprocess.Popen(job) for job in jobs]:
        if job.wait() != 0:
            sys.exit(f"{' '.join(map(str, job.args))} ended with {job.returncode}")


def first_error(root, source, run, made):
    """Compiles, and runs if asked to, with what compile_once() made; what went wrong first, or nothing."""
    engine = engine_options(source) or []
    if "#include <torch/" in source:
        engine = ["-include", made / TORCH_HEADERS, *engine]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        how = ["-DRUBATO_EXTERN_KERNELS", "-x", "none", made / KERNELS, "-o", program] if run else ["-fsyntax-only"]
        done = subprocess.run(command(root, "-x", "c++", "-", *how, *engine), input=source, text=True, capture_output=True,
                              check=False)
        if done.returncode != 0:
            return next((line for line in done.stderr.splitlines() if "error:" in line), "it does not compile")
        if run:
            try:
                ended = subprocess.run([program], cwd=folder, text=True, capture_output=True, timeout=60, check=False)
            except subprocess.TimeoutExpired:
                return "it has not ended after 60 s"
            if ended.returncode != 0:
                return f"it ends with {ended.returncode}: {(ended.stderr + ended.stdout).strip()}"
    return None


def check_first_example(root, made):
    readme = (root / "README.md").read_text(encoding="utf-8")
    example = (root / "examples/00_straggler.cpp").read_text(encoding="utf-8")
    block = BLOCK.search(readme)
    if not block or block[2] != example:
        yield "README.md: its first C++ block is not examples/00_straggler.cpp"
        return
    if not POLICY_LINE.search(example):
        yield "examples/00_straggler.cpp: it has no line 'auto policy = ...;'"
        return
    following = readme[block.end():].split("\n#", 1)[0]
    named = re.findall(r"`(rubato::\w+\{[^`]*\})`", following)
    if len(set(named)) < 3:
        yield "README.md: it names less than three policies for its first example"
    for policy in sorted(set(named)):
        wrong = first_error(root, POLICY_LINE.sub(rf"\g<1>{policy};", example), False, made)
        if wrong:
            yield f"README.md: its first example with {policy}: {wrong}"


def check_blocks(root, made, left_out):
    compiled = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for page in pages(root):
            text = page.read_text(encoding="utf-8")
            for block in BLOCK.finditer(text):
                where = f"{page.relative_to(root)}:{text.count(chr(10), 0, block.start()) + 1}"
                around, source = block[1], block[2]
                if around:
                    if not (root / around).is_file():
                        yield f"{where}: {around} does not exist"
                        continue
                    source = (root / around).read_text(encoding="utf-8").replace("  // BLOCK\n", source)
                elif not re.match(r"(//.*\n)*#include", source):
                    yield f"{where}: begins without an #include, and the line before it does not say in which file it stands"
                    continue
                if engine_options(source) is None:
                    left_out.append(where)
                else:
                    compiled.append((where, pool.submit(first_error, root, source, "int main(" in source, made)))
    for where, error in compiled:
        if wrong := error.result():
            yield f"{where}: {wrong}"


def check_limits(root):
    known = set()
    for source in (root / "tests").rglob("*_test.cpp"):
        for suite, name, typed_suite, typed_name in TEST_NAME.findall(source.read_text(encoding="utf-8")):
            known.add(f"{suite or typed_suite}.{name or typed_name}")
    text = (root / "SECURITY.md").read_text(encoding="utf-8")
    for test in re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", text):
        if test not in known:
            yield f"SECURITY.md: there is no test {test}"
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()
            if re.search(r"`[\w/]+/[\w/]+\.\w+`: `", line)]
    if len(rows) < 20:
        yield f"SECURITY.md: found {len(rows)} limits, expected 20 at least"
    for row in rows:
        path, _, expressions = row[2].partition(": ")
        source = root / path.strip("`")
        for expression in re.findall(r"`([^`]+)`", expressions):
            if not source.is_file() or expression not in source.read_text(encoding="utf-8"):
                yield f"SECURITY.md: {row[0]}: {path} does not have {expression}"
        if not re.search(r"`[A-Z]\w+\.[A-Z]\w+`", row[3]):
            yield f"SECURITY.md: {row[0]}: no test holds it"


def check_named_tests(root):
    for header in sorted(h for folder in ("include", "examples", "integrations") for h in (root / folder).rglob("*")
                         if h.suffix in (".hpp", ".cuh")):
        where = header.relative_to(root)
        text = header.read_text(encoding="utf-8")
        for line in FOLDED.findall(text):
            yield f"{where}: 'Tests' within a paragraph, expected at the start of its line: {line.strip()}"
        for match in TESTS.findall(text):
            entry = re.sub(r"\s*\n\s*///\s*", " ", match)
            files = TEST_FILE.findall(entry)
            if not files:
                yield f"{where}: 'Tests {entry}' names no file"
            for name, tests in files:
                path = root / name
                if not path.exists():
                    yield f"{where}: names {name}, which does not exist"
                elif path.is_file():
                    found = {word for names in TEST_NAME.findall(path.read_text(encoding="utf-8")) for word in names}
                    for test in re.findall(r"\b[A-Z]\w+", tests or ""):
                        if test not in found:
                            yield f"{where}: {name} has no test {test}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    left_out = []
    findings = [*check_links(root), *check_widths(root), *check_named_tests(root), *check_limits(root)]
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder)
        compile_once(root, made)
        findings += [*check_first_example(root, made), *check_blocks(root, made, left_out)]
    for line in findings:
        print(f"error: {line}")
    if left_out:
        print(f"left out, since what they include is not installed: {', '.join(left_out)}")
    return 1 if findings else 77 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
