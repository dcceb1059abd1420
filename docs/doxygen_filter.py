#!/usr/bin/env python3
"""Doxygen's input filter. What a member means that a concept asks for is said at the concept, once: this puts a pointer to
it before each such member that has no docstring of its own. And Doxygen cannot read `namespace a::inline b`, so that the
inline namespace goes. Line numbers stay.

usage: doxygen_filter.py FILE       what Doxygen reads, to standard output
"""
import re
import sys

# Members by the start of their declaration -> what is said of them.
CONCEPT_OF = {
    r"admission admit\(const cluster_view&": "AdmittingPolicy",
    r"void observe\(const feedback&": "ObservingPolicy",
    r"void shape\(const cluster_view&": "ShapingPolicy",
    r"bool shapes\(\)": "MaybeShapingPolicy",
    r"void prepare\(\)": "PreparingPolicy",
    r"void resize\(std::uint32_t \w+\)": "ResizablePolicy",
    r"void reset\(std::uint32_t \w+\)": "ResettablePolicy",
    r"clock_type clock_bound\(\)": "BoundedPolicy",
    r"double max_legal_wait\(": "WaitLimitingPolicy",
    r"std::string problem\(std::uint32_t": "CheckedPolicy",
    r"void state\(archive&": "StatefulPolicy",
    r"description describe\(\)": "DescribedPolicy",
    r"decision release\(const cluster_view&": "SyncPolicy",
    r"void release\(Ticket": "Sink",
    r"void flush\(std::uint64_t": "Sink",
    r"void discard\(std::uint64_t": "Sink",
    r"void cancel\(worker_id": "Sink",
    r"void ready\(worker_id": "Sink",
    r"void abandon\(Ticket": "Sink",
}
SAID = [(re.compile(rf"^\s+(?:\[\[nodiscard\]\] )?(?:static )?(?:constexpr )?{start}"), f"See {concept}.")
        for start, concept in CONCEPT_OF.items()]
SAID += [(re.compile(r"^\s+static constexpr std::string_view kind = "), "The name in files, logs and options."),
         (re.compile(r"^\s+(?:\[\[nodiscard\]\] )?friend .*operator==\(.*= default;"), "Member by member."),
         (re.compile(r"^\s+(?:\[\[nodiscard\]\] )?(?:constexpr )?bool operator==\(.*= default;"), "Member by member.")]
COMMENT = re.compile(r"^\s*//[/!]")


def filtered(lines):
    before = ""
    for line in lines:
        line = line.replace("::inline RUBATO_ABI", "")
        text = next((what for start, what in SAID if start.match(line)), None)
        if text and not COMMENT.match(before) and "///<" not in line:
            indent = len(line) - len(line.lstrip())
            line = f"{line[:indent]}/** {text} */ {line[indent:]}"
        before = line
        yield line


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.writelines(filtered(file))


if __name__ == "__main__":
    main()
