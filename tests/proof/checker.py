#!/usr/bin/python3
"""Makes C++ of the events and invariants of shield.py, term by term: a model with so many workers, and a function for
each event, which says what forbids it or changes the model. conformance.cpp drives it and a controller side by side.

usage: checker.py OUT
"""
import pathlib
import sys

import z3

import logic
import shield

BEFORE = """// Made by tests/proof/checker.py from tests/proof/shield.py.
#ifndef RUBATO_TESTS_PROOF_SHIELD_HPP
#define RUBATO_TESTS_PROOF_SHIELD_HPP

#include <array>
#include <cstdint>
#include <vector>

namespace shield {

using place = std::uint32_t;    // of a worker, a gradient, a ticket or a round
using integer = std::int64_t;

template <class Holds>
[[nodiscard]] bool any(place size, const Holds& holds) {
  for (place x = 0; x < size; ++x)
    if (holds(x)) return true;
  return false;
}
template <class Holds>
[[nodiscard]] bool every(place size, const Holds& holds) {
  for (place x = 0; x < size; ++x)
    if (!holds(x)) return false;
  return true;
}
"""
AFTER = """
}  // namespace shield

#endif
"""
INFIX = {z3.Z3_OP_ADD: " + ", z3.Z3_OP_SUB: " - ", z3.Z3_OP_LE: " <= ", z3.Z3_OP_LT: " < ", z3.Z3_OP_GE: " >= ",
         z3.Z3_OP_GT: " > ", z3.Z3_OP_EQ: " == ", z3.Z3_OP_DISTINCT: " != ", z3.Z3_OP_AND: " && ", z3.Z3_OP_OR: " || "}
FIELDS = {name: over for name, over, _, _ in shield.Shield.fields}
HERE = "here"  # the name of the place that a loop is at


def type_of(sort):
    if sort == z3.BoolSort():
        return "bool"
    if sort == z3.IntSort():
        return "integer"
    return f"{sort.name()}_kind" if isinstance(sort, z3.DatatypeSortRef) else "place"


class Text:
    """Terms as C++. Those that must not be worked out again and again, or too late, become variables in `lines`."""

    def __init__(self):
        self.lines, self.names, self.variables = [], {}, 0

    def free(self, term, depth):
        """How many variables of outer quantifiers, or places of loops, a term below `depth` quantifiers has."""
        if z3.is_var(term):
            return int(z3.get_var_index(term) >= depth)
        if z3.is_quantifier(term):
            return self.free(term.body(), depth + 1)
        return int(str(term) == HERE) if z3.is_const(term) else sum(self.free(each, depth) for each in term.children())

    def name(self, term, text):
        """A variable with the value that the term has before anything changes."""
        if term.get_id() not in self.names:
            self.names[term.get_id()] = f"v{len(self.names)}"
            self.lines.append(f"const {type_of(term.sort())} {self.names[term.get_id()]} = {text};")
        return self.names[term.get_id()]

    def quantified(self, term, outer):
        assert term.num_vars() == 1
        self.variables += 1
        x = f"x{self.variables}"
        size = f"s.size_{term.var_sort(0).name()}"
        body = self.of(term.body(), [*outer, x])
        return f"{'every' if term.is_forall() else 'any'}({size}, [&](place {x}) {{ return {body}; }})"

    def of(self, term, outer=(), in_loop=False):
        if z3.is_var(term):
            return outer[-1 - z3.get_var_index(term)]
        if term.get_id() in self.names:
            return self.names[term.get_id()]
        closed = self.free(term, 0) == 0
        if z3.is_quantifier(term):
            text = self.quantified(term, outer)
            return self.name(term, text) if closed else text
        kind = term.decl().kind()
        if in_loop and closed and term.children():
            return self.name(term, self.of(term))
        parts = [self.of(each, outer, in_loop) for each in term.children()]
        if kind == z3.Z3_OP_UNINTERPRETED:
            name = term.decl().name()
            if name not in FIELDS:
                return name
            return f"s.{name}[{parts[0]}]" if parts else f"s.{name}"
        if kind in INFIX:
            return parts[0] if len(parts) == 1 else "(" + INFIX[kind].join(parts) + ")"
        if kind == z3.Z3_OP_ITE:
            return f"({parts[0]} ? {parts[1]} : {parts[2]})"
        if kind == z3.Z3_OP_NOT:
            return f"!{parts[0]}"
        if kind == z3.Z3_OP_IMPLIES:
            return f"(!{parts[0]} || {parts[1]})"
        if kind == z3.Z3_OP_DT_CONSTRUCTOR:
            return f"{type_of(term.sort())}::{term.decl().name()}"
        if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
            return "true" if kind == z3.Z3_OP_TRUE else "false"
        if kind == z3.Z3_OP_ANUM:
            return f"integer{{{term.as_long()}}}"
        raise NotImplementedError(f"{term} has an operator of kind {kind}")


def model_of(s):
    lines = ["", "/// All that the shield is about. Pools of gradients, tickets and rounds grow with add_...()."]
    lines.append("struct model {")
    for sort in "WGTR":
        lines.append(f"  place size_{sort} = 0;")
    for name, over, of, value in s.fields:
        kind = type_of(s.world.sort(of))
        stored = "std::uint8_t" if kind == "bool" else kind
        start = "" if over or value is None else Text().of(getattr(s, name).sort().cast(value))
        lines.append(f"  std::vector<{stored}> {name};" if over else f"  {kind} {name} = {start or '{}'};")
    for sort in "WGTR":
        here = z3.Const(HERE, s.world.sort(sort))
        lines += [f"  void begin_{sort}(place {HERE}) {{", "    model& s = *this;"]
        for name, over, _, value in s.fields:
            if over != sort:
                continue
            of = getattr(s, name).range()
            value = value(s, here) if callable(value) else value
            text = "{}" if value is None else Text().of(of.cast(value))
            lines.append(f"    s.{name}[{HERE}] = {text};")
        lines += ["  }", f"  place add_{sort}() {{"]
        lines += [f"    {name}.emplace_back();" for name, over, _, _ in s.fields if over == sort]
        lines += [f"    begin_{sort}(size_{sort}++);", f"    return size_{sort} - 1;", "  }"]
    return lines + ["};"]


def event_of(e, first_branch):
    """The function of an event; its branches are counted from first_branch on."""
    params = "".join(f", {type_of(const.sort())} {name}" for name, const in e.args.items())
    guards, values, loops, puts = Text(), [], [], []
    body = [(guard, guards.of(guard)) for guard in e.guards]
    checks = [f'if (!{text}) return "{e.name}: " {quoted(guard)};' for guard, text in body]
    branches = [f"taken[{first_branch + i}] += {guards.of(branch)};" for i, (_, branch) in enumerate(e.branches)]
    branches.append(f"++taken[{first_branch + len(e.branches)}];")
    text = guards
    each = {}
    for field, at, value in e.changes:
        if at is None and callable(value):
            each.setdefault(FIELDS[field], []).append((field, value))
    for over, fields in each.items():
        here = z3.Const(HERE, e.before.world.sort(over))
        loops.append(f"for (place {HERE} = 0; {HERE} < s.size_{over}; ++{HERE}) {{")
        for field, value in fields:
            term = getattr(e.before, field).range().cast(value(here))
            loops.append(f"  const {type_of(term.sort())} new_{field} = {text.of(term, in_loop=True)};")
        loops += [f"  s.{field}[{HERE}] = new_{field};" for field, _ in fields] + ["}"]
    for i, (field, at, value) in enumerate(e.changes):
        if at is None and callable(value):
            continue
        f = getattr(e.before, field)
        term = (f.sort() if at is None else f.range()).cast(value)
        values.append(f"const {type_of(term.sort())} to{i} = {text.of(term)};")
        if at is None:
            puts.append(f"s.{field} = to{i};")
        else:
            values.append(f"const place at{i} = {text.of(at)};")
            puts.append(f"s.{field}[at{i}] = to{i};")
    lines = ["", f"[[nodiscard]] inline const char* {e.name}(model& s{params}) {{"]
    lines += ["  " + line for line in text.lines + checks + branches + values + loops + puts]
    return lines + ["  return nullptr;", "}"]


def quoted(term):
    words = " ".join(str(term).split())
    return '"' + (words if len(words) < 200 else words[:197] + "...").replace('"', "'") + '"'


def main():
    s = shield.Shield(logic.World("WGTR"))
    lines = [BEFORE]
    kinds = {of for _, _, of, _ in s.fields if isinstance(of, z3.DatatypeSortRef)} | {shield.VERDICT}
    for kind in sorted(kinds, key=str):
        names = ", ".join(kind.constructor(i).name() for i in range(kind.num_constructors()))
        lines.append(f"enum class {type_of(kind)} : std::uint8_t {{ {names} }};")
    lines += model_of(s)
    events = [logic.Event(define, s) for define in logic.events_of(shield.Events).values()]
    branches = [f"{e.name}, {branch}" for e in events for branch in [*(name for name, _ in e.branches), "at all"]]
    lines += ["", "/// How often each branch of an event was taken.",
              f"inline std::array<std::uint64_t, {len(branches)}> taken{{}};",
              f"inline constexpr std::array<const char*, {len(branches)}> branches{{"]
    lines += [f'    "{branch}",' for branch in branches] + ["};"]
    first = 0
    for e in events:
        lines += event_of(e, first)
        first += len(e.branches) + 1
    lines += ["", "/// The first invariant that does not hold; nullptr if all do.",
              "[[nodiscard]] inline const char* broken(const model& s) {"]
    for group, formula in shield.invariants(s):
        text = Text()
        condition = text.of(formula)
        lines += ["  {"] + [f"    {line}" for line in text.lines]
        lines += [f'    if (!{condition}) return "{group}";', "  }"]
    lines += ["  return nullptr;", "}"]
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + AFTER, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
