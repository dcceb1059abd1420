"""Headers with all mutants in them at once, each behind a switch that is read when the program starts.

An expression becomes (mutation::on(17) ? MUTANT : ORIGINAL), a statement { if (mutation::on(17)) ... else ... }. In a
constant expression on() is false, so that what the compiler evaluates is the original.
"""
import collections
import pathlib
import re
import shutil

BYTES = "latin-1"  # a character for each byte: libclang counts bytes

# begin and end: offsets in the file; `text` stands there while `number` is on.
Edit = collections.namedtuple("Edit", "number begin end text is_block")

SWITCH = """#pragma once
#include <cstdlib>

namespace mutation {

inline int active = std::getenv("RUBATO_MUTANT") == nullptr ? 0 : std::atoi(std::getenv("RUBATO_MUTANT"));
inline unsigned char reached[COUNT + 1];

[[nodiscard]] constexpr bool on(int number) noexcept {
  if (__builtin_is_constant_evaluated()) return false;
  reached[number] = 1;
  return number == active;
}

}  // namespace mutation
"""

# Says which mutants each test reaches, and runs the tests.
MAIN = """#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <ctime>

namespace {

// Each test, its seconds of CPU time, and the mutants that it reaches.
class reach : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { begin = std::clock(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    std::fprintf(file, "%s.%s %.3f", test.test_suite_name(), test.name(),
                 static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    for (int n = 1; n <= COUNT; ++n)
      if (mutation::reached[n] != 0) std::fprintf(file, " %d", n);
    std::fprintf(file, "\\n");
    std::fflush(file);
    std::memset(mutation::reached, 0, sizeof(mutation::reached));
  }
  std::clock_t begin = 0;
  std::FILE* file = std::fopen(std::getenv("RUBATO_REACHED"), "w");
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (std::getenv("RUBATO_REACHED") != nullptr) testing::UnitTest::GetInstance()->listeners().Append(new reach);
  return RUN_ALL_TESTS();
}
"""


def nested(edits):
    """The edits by their ranges, the outer before the inner; those that cross another are left out, and returned."""
    kept, crossing = [], []
    for edit in sorted(edits, key=lambda e: (e.begin, -e.end, e.number)):
        if any(k.begin < edit.begin < k.end < edit.end for k in kept):
            crossing.append(edit)
        else:
            kept.append(edit)
    return kept, crossing


def rewritten(text, edits, begin=0, end=None):
    """text[begin:end] with all edits in it, which are nested."""
    end = len(text) if end is None else end
    out, at = [], begin
    rest = list(edits)
    while rest:
        first = rest[0]
        here = [e for e in rest if (e.begin, e.end) == (first.begin, first.end)]
        inner = [e for e in rest if first.begin <= e.begin and e.end <= first.end and e not in here]
        rest = [e for e in rest if e not in here and e not in inner]
        out.append(text[at:first.begin])
        body = rewritten(text, inner, first.begin, first.end)
        # What has another type than the expression goes around the rest.
        for edit in sorted(here, key=lambda e: (e.is_block, e.text == "static_cast<void>(0)")):
            if edit.is_block:
                body = f"{{ if (::mutation::on({edit.number})) {{ {edit.text} }} else {{ {body} }} }}"
            elif edit.text == "static_cast<void>(0)":
                body = f"(::mutation::on({edit.number}) ? {edit.text} : static_cast<void>({body}))"
            else:
                body = f"(::mutation::on({edit.number}) ? {edit.text} : {body})"
        out.append(body)
        at = first.end
    out.append(text[at:end])
    return "".join(out)


def write_headers(root, folder, by_file):
    """The headers that have edits. Returns the numbers of those that are left out, since they cross others."""
    left_out = set()
    for name, edits in by_file.items():
        kept, crossing = nested(edits)
        left_out.update(e.number for e in crossing)
        text = (root / "include" / name).read_bytes().decode(BYTES)
        (folder / "include" / name).write_bytes(rewritten(text, kept).encode(BYTES))
    return left_out


def write(root, folder, by_file, count):
    """A copy of include/ in `folder` with these edits, the switch, and a main(). Returns as write_headers()."""
    shutil.rmtree(folder / "include", ignore_errors=True)
    shutil.copytree(root / "include", folder / "include")
    (folder / "switch.hpp").write_text(SWITCH.replace("COUNT", str(count)))
    (folder / "main.cpp").write_text(MAIN.replace("COUNT", str(count)))
    return write_headers(root, folder, by_file)


def numbers_in(folder, errors):
    """The mutants on the lines that the compiler complains about."""
    found = set()
    for path, line in set(re.findall(r"^([^\s:]+):(\d+)(?::\d+)?: (?:fatal )?error", errors, re.M)):
        file = pathlib.Path(path)
        if folder in file.parents:
            lines = file.read_text().split("\n")
            found.update(int(n) for n in re.findall(r"mutation::on\((\d+)\)", lines[int(line) - 1]))
    return found
