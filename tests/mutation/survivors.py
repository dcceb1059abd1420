"""The list of mutants that are known to survive, and why: survivors.txt.

An entry has three lines: a header below include/rubato, the line of it that the mutant changes, and the change with a
reason. It stands for the mutant wherever that line has moved to. Where a change can be made several times, on such a
line or on others like it, it has a number: `0 -> 0 + 1 #2`.
"""
import collections
import pathlib

LIST = pathlib.Path(__file__).with_name("survivors.txt")

# `line` without the spaces at its ends.
Key = collections.namedtuple("Key", "file line what")


def keys_of(root, mutants):
    """A key for each of the mutants, which are all those of their headers."""
    lines, times, keys = {}, collections.Counter(), []
    for m in mutants:
        if m.file not in lines:
            lines[m.file] = (root / "include" / m.file).read_bytes().decode("latin-1").split("\n")
        key = Key(m.file.removeprefix("rubato/"), lines[m.file][m.line - 1].strip(), m.what)
        times[key] += 1
        keys.append(key if times[key] == 1 else key._replace(what=f"{m.what} #{times[key]}"))
    return keys


def read(path=LIST):
    """{key: reason}; lines that begin in the first column, and are no header, are remarks."""
    found, file, line = {}, "", ""
    for number, text in enumerate(path.read_text(encoding="latin-1").splitlines(), 1):
        indent = len(text) - len(text.lstrip(" "))
        if indent == 0:
            file, line = text.strip() if text.strip().endswith(".hpp") else "", ""
        elif indent == 4 and file:
            line = text.strip()
        elif indent == 8 and line and ": " in text:
            what, reason = text.strip().split(": ", 1)
            found[Key(file, line, what)] = reason
        else:
            raise SystemExit(f"{path}:{number}: expected a header, 4 spaces and a line of it, or 8 and CHANGE: REASON")
    return found
