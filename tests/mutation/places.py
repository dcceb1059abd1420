"""Where a header can be broken by the change of one operator, and how.

places(root, folders) parses the headers with libclang (Debian's python3-clang-14) and yields a Mutant for each change:
relational, arithmetic, logical and bit operators, boundary constants (+1, -1), flipped truth values, negated
conditions, ++ for --, += for -=, and deleted statements. What is evaluated by the compiler alone (constexpr variables,
if constexpr, static_assert, concepts, template arguments, array bounds, case labels), arguments of compiler builtins,
and code for another compiler or processor are left out: see docs/testing.md.
"""
import collections
import os
import pathlib
import re

import clang.cindex
from clang.cindex import CursorKind as Kind

for number in range(600):  # those that the bindings know no name for
    try:
        Kind.from_id(number)
    except ValueError:
        Kind(number)

# begin and end are offsets of the expression in the file; `text` is what stands there instead.
Mutant = collections.namedtuple("Mutant", "file begin end line what text")

BINARY = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
          "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",), "&&": ("||",), "||": ("&&",),
          "&": ("|",), "|": ("&",), "^": ("&",), "<<": (">>",), ">>": ("<<",)}
ASSIGNMENT = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "^=": "&=", "<<=": ">>=",
              ">>=": "<<=", "%=": "/="}
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}

FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.FUNCTION_TEMPLATE, Kind.CONSTRUCTOR, Kind.DESTRUCTOR,
             Kind.CONVERSION_FUNCTION}
CONTAINERS = {Kind.NAMESPACE, Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.CLASS_TEMPLATE, Kind.UNION_DECL,
              Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION, Kind.FRIEND_DECL, Kind.LINKAGE_SPEC}
COMPILED_AWAY = {Kind.STATIC_ASSERT, Kind.TYPE_ALIAS_DECL, Kind.TYPEDEF_DECL, Kind.ENUM_DECL, Kind.CXX_UNARY_EXPR,
                 Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.TEMPLATE_TYPE_PARAMETER, Kind.ASM_STMT, Kind.MS_ASM_STMT}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def flat(text):
    """On one line and without comments, so that the lines of a rewritten header stay where they were."""
    return re.sub(r"\s+", " ", COMMENT.sub(" ", text)).strip()


class Finder:
    def __init__(self, root, folders):
        self.include = root / "include"
        self.wanted = tuple(f"{self.include}/rubato/{folder}/" for folder in folders)
        self.texts = {}
        self.found = {}

    def text(self, file):
        if file not in self.texts:
            self.texts[file] = pathlib.Path(file).read_bytes().decode("latin-1")
        return self.texts[file]

    def add(self, file, begin, end, what, text):
        line = self.text(file).count("\n", 0, begin) + 1
        name = pathlib.Path(os.path.normpath(file)).relative_to(self.include).as_posix()
        mutant = Mutant(name, begin, end, line, what, text)
        self.found[(mutant.file, begin, end, text)] = mutant

    def parse(self, headers):
        source = "".join(f'#include "{h}"\n' for h in headers)
        unit = clang.cindex.Index.create().parse(
            "all.cpp", args=["-std=c++20", "-DNDEBUG", f"-I{self.include}", "-ferror-limit=0"],
            unsaved_files=[("all.cpp", source)])
        bad = [d for d in unit.diagnostics if d.severity >= clang.cindex.Diagnostic.Error]
        if bad:
            raise SystemExit("\n".join(str(d) for d in bad[:10]))
        for cursor in unit.cursor.get_children():
            self.declaration(cursor)
        return sorted(self.found.values())

    def is_wanted(self, cursor):
        file = cursor.location.file
        return file is not None and os.path.normpath(file.name).startswith(self.wanted)

    def source(self, cursor):
        return self.text(cursor.location.file.name)[cursor.extent.start.offset:cursor.extent.end.offset]

    def declaration(self, cursor):
        if cursor.kind is Kind.NAMESPACE:  # whose first file need not be that of what is in it
            for child in cursor.get_children():
                self.declaration(child)
        elif not self.is_wanted(cursor):
            return
        elif cursor.kind in FUNCTIONS:
            for child in cursor.get_children():
                if child.kind is Kind.COMPOUND_STMT or child.kind.is_expression() and cursor.kind is Kind.CONSTRUCTOR:
                    self.walk(child, [cursor])
        elif cursor.kind in (Kind.FIELD_DECL,):
            self.walk(cursor, [])
        elif cursor.kind in CONTAINERS:
            for child in cursor.get_children():
                self.declaration(child)

    def walk(self, cursor, above):
        """What is evaluated at run time; `above` are its ancestors, the nearest last."""
        if cursor.kind in COMPILED_AWAY:
            return
        if cursor.location.file is not None and self.is_wanted(cursor):
            text = self.source(cursor)
            if text.startswith(("__builtin_", "__asm__", "RUBATO_", "sizeof", "noexcept", "requires", "alignof")):
                return
            if cursor.kind is Kind.VAR_DECL and "constexpr" in text.split("=")[0].split("{")[0]:
                return
            self.here(cursor, above, text)
        children = list(cursor.get_children())
        if cursor.kind in (Kind.IF_STMT,) and re.match(r"if\s+constexpr\b", self.source(cursor)):
            children = children[1:]
        if cursor.kind is Kind.CASE_STMT:
            children = children[1:]
        if cursor.kind in (Kind.DECL_REF_EXPR, Kind.MEMBER_REF_EXPR):
            begin = cursor.extent.start.offset  # of what is referred to; template arguments follow
            children = [c for c in children if c.extent.start.offset <= begin]
        for child in children:
            if cursor.kind not in (Kind.VAR_DECL, Kind.FIELD_DECL) or self.is_initialiser(cursor, child):
                self.walk(child, above + [cursor])

    def is_initialiser(self, variable, part):
        """Not part of its type."""
        if part.location.file is None or variable.location.file is None:
            return False
        name, begin = variable.location.offset, part.extent.start.offset
        between = self.text(variable.location.file.name)[name + len(variable.spelling):begin]
        return begin > name and not between.lstrip().startswith("[")

    def here(self, cursor, above, text):
        file, begin, end = cursor.location.file.name, cursor.extent.start.offset, cursor.extent.end.offset
        parent = next((a for a in reversed(above) if a.kind is not Kind.UNEXPOSED_EXPR), None)
        children = list(cursor.get_children())
        kind = cursor.kind
        if kind in (Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR) and len(children) == 2:
            left, right = children[0].extent.end.offset, children[1].extent.start.offset
            between = self.text(file)[left:right]
            operator = flat(between)
            changes = BINARY.get(operator, ())
            if operator in ASSIGNMENT:
                changes = (ASSIGNMENT[operator],)
            for other in changes:
                new = flat(text[:left - begin]) + f" {other} " + flat(text[right - begin:])
                self.add(file, begin, end, f"{operator} -> {other}", new)
        elif kind is Kind.UNARY_OPERATOR and children:
            operand = flat(text).strip()
            if operand.startswith(("++", "--")):
                other = "--" if operand.startswith("++") else "++"
                self.add(file, begin, end, f"{operand[:2]} -> {other}", other + operand[2:])
            elif operand.endswith(("++", "--")):
                other = "--" if operand.endswith("++") else "++"
                self.add(file, begin, end, f"{operand[-2:]} -> {other}", operand[:-2] + other)
            elif operand.startswith("!"):
                self.add(file, begin, end, "! removed", f"static_cast<bool>({operand[1:]})")
            elif operand.startswith("-"):
                self.add(file, begin, end, "- removed", operand[1:])
        elif kind in (Kind.INTEGER_LITERAL, Kind.FLOATING_LITERAL):
            self.literal(file, begin, end, text, parent, kind)
        elif kind is Kind.CXX_BOOL_LITERAL_EXPR and text in ("true", "false"):
            if not self.is_template_argument(file, begin, end, parent):
                self.add(file, begin, end, "flipped", "false" if text == "true" else "true")
        self.condition(cursor, children)
        self.statement(cursor, above, text)

    def is_template_argument(self, file, begin, end, parent):
        before, after = self.text(file)[:begin].rstrip()[-1:], self.text(file)[end:].lstrip()[:1]
        binary = parent is not None and parent.kind is Kind.BINARY_OPERATOR
        return (before == "<" or after == ">" or before == ",") and not binary and (
            after == ">" or before == "<" or parent is None or parent.kind in (Kind.DECL_REF_EXPR, Kind.TYPE_REF))

    def literal(self, file, begin, end, text, parent, kind):
        if not re.match(r"[\d.]", text) or self.is_template_argument(file, begin, end, parent):
            return
        if parent is not None and parent.kind in (Kind.DECL_REF_EXPR, Kind.MEMBER_REF_EXPR, Kind.TYPE_REF):
            return
        self.add(file, begin, end, f"{text} -> {text} + 1", f"{text} + 1")
        if kind is Kind.INTEGER_LITERAL and not re.fullmatch(r"0[uUlL]*", text):
            self.add(file, begin, end, f"{text} -> {text} - 1", f"{text} - 1")

    def condition(self, cursor, children):
        """if, while, do and ?: with a condition that is not itself a comparison or a conjunction."""
        expressions = [c for c in children if c.kind.is_expression()]
        if cursor.kind is Kind.DO_STMT:
            expressions.reverse()
        elif cursor.kind not in (Kind.IF_STMT, Kind.WHILE_STMT, Kind.CONDITIONAL_OPERATOR):
            return
        if not expressions or re.match(r"if\s+constexpr\b", self.source(cursor)):
            return
        condition = inner = expressions[0]
        if condition == children[-1] and cursor.kind is not Kind.DO_STMT or condition.location.file is None:
            return
        while inner.kind in (Kind.UNEXPOSED_EXPR, Kind.PAREN_EXPR) and len(list(inner.get_children())) == 1:
            inner = next(inner.get_children())
        text, file, begin = flat(self.source(condition)), condition.location.file.name, condition.extent.start.offset
        before = self.text(file)[:begin].rstrip()
        declares = cursor.kind is not Kind.CONDITIONAL_OPERATOR and not before.endswith(("(", ";"))
        if inner.kind is Kind.BINARY_OPERATOR or declares or text.startswith(("!", "RUBATO_", "__builtin_")):
            return  # its own mutants say as much
        self.add(file, begin, condition.extent.end.offset, "negated", f"!({text})")

    def statement(self, cursor, above, text):
        if not above or not cursor.kind.is_expression():
            return
        parent = above[-1]
        siblings = list(parent.get_children())
        if parent.kind is Kind.COMPOUND_STMT:
            pass
        elif parent.kind in (Kind.IF_STMT, Kind.CASE_STMT, Kind.DEFAULT_STMT, Kind.FOR_STMT, Kind.WHILE_STMT,
                             Kind.CXX_FOR_RANGE_STMT):
            if siblings[0] == cursor and parent.kind is not Kind.DEFAULT_STMT:
                return
            if parent.kind not in (Kind.IF_STMT, Kind.CASE_STMT, Kind.DEFAULT_STMT) and siblings[-1] != cursor:
                return
            after = self.text(cursor.location.file.name)[cursor.extent.end.offset:].lstrip()
            if not after.startswith(";"):
                return
        else:
            return
        if text.startswith(("static_cast<void>", "co_")) or len(flat(text)) < 3:
            return
        file = cursor.location.file.name
        self.add(file, cursor.extent.start.offset, cursor.extent.end.offset, "deleted", "static_cast<void>(0)")


def headers_of(root, folders):
    base = root / "include" / "rubato"
    return [str(p.relative_to(root / "include")) for folder in folders for p in sorted((base / folder).rglob("*.hpp"))]


def places(root, folders):
    """All mutants of the headers in these folders, in the order of files and offsets."""
    return Finder(root, folders).parse(headers_of(root, folders))
