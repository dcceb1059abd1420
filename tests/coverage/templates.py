"""The public class and function templates of include/, and which of them no test program instantiates.

One has an instance where a program has a symbol of it: at -O0 every function that is called has one, and a class has
those of its members.
"""
import os
import re
import subprocess

import clang.cindex
from clang.cindex import CursorKind as Kind

HIDDEN = ("detail", "kernels", "pinned")


def public_templates(root):
    """{(name, kind): file} of class and function templates outside of detail namespaces, members left out."""
    include = root / "include"
    headers = sorted(p for p in (include / "rubato").rglob("*.hpp"))
    source = "".join(f'#include "{h.relative_to(include)}"\n' for h in headers)
    unit = clang.cindex.Index.create().parse("all.cpp", args=["-std=c++20", "-DNDEBUG", f"-I{include}"],
                                             unsaved_files=[("all.cpp", source)])
    found = {}

    def look(cursor):
        for child in cursor.get_children():
            if child.kind is Kind.NAMESPACE and child.spelling not in HIDDEN:
                look(child)
            elif child.kind in (Kind.CLASS_TEMPLATE, Kind.FUNCTION_TEMPLATE):
                file = child.location.file
                if file is not None and file.name.startswith(str(include)):
                    found.setdefault((child.spelling.split("<")[0], child.kind is Kind.CLASS_TEMPLATE),
                                     os.path.relpath(os.path.normpath(file.name), include))
    look(unit.cursor)
    return found


def without_instance(root, programs):
    symbols = ""
    for program in programs:
        symbols += subprocess.run(["nm", "-C", "--defined-only", str(program)], capture_output=True, text=True,
                                  check=True).stdout
    instances = set(re.findall(r"([A-Za-z_]\w*)(?:\[abi:\w+\])?<", symbols))
    operators = set(re.findall(r"(operator[^\s(<]+)<", symbols))
    missing = []
    for (name, _), file in sorted(public_templates(root).items(), key=lambda item: item[1]):
        if name not in instances and name not in operators:
            missing.append(f"{name} of {file}")
    return missing
