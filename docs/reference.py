#!/usr/bin/env python3
"""Builds the reference of all public symbols by Doxygen, from copies of the headers that it can read; ends with 1 and what
it says if it says anything: a public symbol without a docstring, a reference that leads nowhere.

usage: reference.py [OUT]      OUT: a folder; build/site/reference if it is left out

Changed in the copies, line by line: what Doxygen cannot read, which are `namespace a::inline b` and raw strings. And what
a member means that a concept asks for is said once, at the concept: each such member without a docstring of its own gets
a pointer to it.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))
from single_header import version

# Members by the start of their declaration -> what is said of them.
CONCEPT_OF = {
    r"admission admit\(const cluster_view&": "AdmittingPolicy",
    r"void observe\(const feedback&": "ObservingPolicy",
    r"void measured\(std::uint32_t": "MeasuringPolicy",
    r"bool measures\(\)": "measures_of()",
    r"void forget\(std::uint32_t": "BatchSizer",
    r"void operator\(\)\(const batch_period&": "BatchSizer",
    r"std::string problem\(\) const": "CheckedPolicy",
    r"void shape\(const cluster_view&": "ShapingPolicy",
    r"bool shapes\(\)": "MaybeShapingPolicy",
    r"void prepare\(\)": "PreparingPolicy",
    r"void resize\(std::uint32_t( \w+)?\)": "ResizablePolicy",
    r"void reset\(std::uint32_t \w+\)": "ResettablePolicy",
    r"clock_type clock_bound\(\)": "BoundedPolicy",
    r"double max_legal_wait\(": "WaitLimitingPolicy",
    r"std::string problem\(std::uint32_t": "CheckedPolicy",
    r"void state\(archive&": "StatefulPolicy",
    r"description describe\(\)": "DescribedPolicy",
    r"insight explain\(\)": "ExplainingPolicy",
    r"decision release\(const cluster_view&": "SyncPolicy",
    r"void release\(Ticket": "ReleaseSink",
    r"void flush\(std::uint64_t": "ReleaseSink",
    r"void discard\(std::uint64_t": "ReleaseSink",
    r"void cancel\(worker_id": "ReleaseSink",
    r"void ready\(worker_id": "ReleaseSink",
    r"void abandon\(Ticket": "ReleaseSink",
}
SAID = [(re.compile(rf"^\s+(?:\[\[nodiscard\]\] )?(?:static )?(?:constexpr )?{start}"), f"See {concept}.")
        for start, concept in CONCEPT_OF.items()]
SAID += [(re.compile(r"^\s+static constexpr std::string_view kind = "), "The name in files, logs and options."),
         (re.compile(r"^\s+(?:\[\[nodiscard\]\] )?friend .*operator==\(.*= default;"), "Member by member."),
         (re.compile(r"^\s+(?:\[\[nodiscard\]\] )?(?:constexpr )?bool operator==\(.*= default;"), "Member by member.")]
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"')
COMMENT = re.compile(r"^\s*//[/!]")


def filtered(lines):
    before = ""
    for line in lines:
        line = RAW_STRING.sub('""', line.replace("::inline RUBATO_ABI", ""))
        text = next((what for start, what in SAID if start.match(line)), None)
        if text and not COMMENT.match(before) and "///<" not in line:
            indent = len(line) - len(line.lstrip())
            line = f"{line[:indent]}/** {text} */ {line[indent:]}"
        before = line
        yield line


def copy_headers(to):
    for include in [ROOT / "include", *sorted((ROOT / "integrations").glob("*/include"))]:
        for header in include.rglob("*.[hc]*"):
            copy = to / header.relative_to(include)
            copy.parent.mkdir(parents=True, exist_ok=True)
            with open(header, encoding="utf-8") as lines:
                copy.write_text("".join(filtered(lines)), encoding="utf-8")


def main(arguments):
    out = pathlib.Path(arguments[0] if arguments else ROOT / "build" / "site" / "reference").resolve()
    if not shutil.which("doxygen"):
        print("reference.py: doxygen is missing (Debian: doxygen)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        copy_headers(pathlib.Path(folder))
        options = (ROOT / "docs" / "Doxyfile").read_text(encoding="utf-8")
        shutil.copy(ROOT / "docs" / "namespaces.dox", folder)
        made = subprocess.run(["doxygen", "-"], cwd=folder, input=f"{options}\nPROJECT_NUMBER = {version()}\nHTML_OUTPUT = html\n", text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if made.returncode != 0 or made.stderr:
            print(made.stderr.replace(f"{folder}/", ""), file=sys.stderr)
            return 1
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(pathlib.Path(folder, "html"), out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
