"""The public class and function templates of include/, and which of them no test program instantiates.

One has an instance where a program has a symbol of it: at -O0 every function that is called has one, and a class has
those of its members. A class without member functions is known by the symbols that name it.
"""
import os
import re
import subprocess

import clang.cindex
from clang.cindex import CursorKind as Kind

HIDDEN = ("detail", "kernels", "pinned")
FUNCTIONS = {Kind.CXX_METHOD, Kind.FUNCTION_TEMPLATE, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.CONVERSION_FUNCTION}
# The inline namespace of the public names, in either assertion mode and any version.
INLINE = re.compile(r"\brubato::v\d+_\d+\w*::")


def public_templates(root):
    """{qualified name: (file, whether a symbol may be of it)}: those outside of detail namespaces, members left out."""
    include = root / "include"
    headers = sorted(p for p in (include / "rubato").rglob("*.hpp"))
    source = "".join(f'#include "{h.relative_to(include)}"\n' for h in headers)
    unit = clang.cindex.Index.create().parse("all.cpp", args=["-std=c++20", "-DNDEBUG", f"-I{include}"],
                                             unsaved_files=[("all.cpp", source)])
    found = {}

    def look(cursor, scope):
        for child in cursor.get_children():
            if child.kind is Kind.NAMESPACE and child.spelling not in HIDDEN:
                look(child, f"{scope}{child.spelling}::")
            elif child.kind in (Kind.CLASS_TEMPLATE, Kind.FUNCTION_TEMPLATE) and child.semantic_parent == cursor:
                file = child.location.file
                if file is not None and file.name.startswith(str(include)):
                    name = INLINE.sub("rubato::", scope + child.spelling.split("<")[0])
                    has_symbols = child.kind is Kind.FUNCTION_TEMPLATE or any(
                        c.kind in FUNCTIONS for c in child.get_children())
                    found.setdefault(name, (os.path.relpath(os.path.normpath(file.name), include), has_symbols))
    look(unit.cursor, "")
    return found


def entity_of(symbol):
    """What a symbol is of, without arguments of templates: ns::c<int>::f<g<1>>(h) is ns::c<>::f<>."""
    symbol = symbol.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{call}")
    symbol = re.sub(r"operator(<=>|<<=?|>>=?|->\*?|<=?|>=?)", "operator{sign}", symbol)
    out, depth = [], 0
    for at, sign in enumerate(symbol):
        if sign in "<(":
            depth += 1
            out.append(sign if depth == 1 else "")
        elif sign in ">)" and symbol[at - 1:at + 1] != "->":
            out.append(sign if depth == 1 else "")
            depth -= 1
        elif depth == 0:
            out.append(sign)
    words = re.sub(r"\([^)]*\)", " ", re.sub(r"\[[^]]*\]", "", "".join(out))).split()
    return next((w for w in words[::-1] if "::" in w or w.endswith("<>")), "")


def without_instance(root, programs):
    entities, text = set(), []
    for program in programs:
        listed = subprocess.run(["nm", "-C", "--defined-only", str(program)], capture_output=True, text=True,
                                check=True).stdout
        for line in listed.splitlines():
            symbol = INLINE.sub("rubato::", line.split(" ", 2)[2])
            if "rubato::" in symbol:
                text.append(symbol)
                entities.add(entity_of(symbol))
    parts = {part for entity in entities for part in prefixes(entity)}
    named = set(re.findall(r"(?<![\w:])(rubato::[\w:]+)<", "\n".join(text)))
    return [f"{name} of {file}" for name, (file, has_symbols) in
            sorted(public_templates(root).items(), key=lambda item: item[1])
            if name not in (parts if has_symbols else named)]


def prefixes(entity):
    """The templates that a qualified name goes through: a<>::b<>::c gives a and a::b."""
    found, scope = [], ""
    for piece in entity.split("::"):
        scope += ("::" if scope else "") + piece.removesuffix("<>")
        if piece.endswith("<>"):
            found.append(scope)
    return found
