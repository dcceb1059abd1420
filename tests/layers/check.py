#!/usr/bin/env python3
"""Checks the headers under include/rubato: dependencies point downwards, no third-party include, files and lines stay
short, the documentation page of each folder that has one names every header of it, and rubato.hpp, rivals.hpp and io.hpp
include all that an embedding host may want.

usage: check.py [ROOT]      ROOT: the repository; exit status 1 and one line per finding if something is wrong.
"""
import pathlib
import re
import sys

# folder -> folders it may include besides itself (a subfolder that is not listed belongs to its parent)
MAY_INCLUDE = {
    "core": [],
    "sync": ["core"],
    "sync/rivals": ["core", "sync", "sync/extras"],
    "sync/extras": ["core", "sync"],
    "nn": ["core"],
    "encode": ["core", "sync"],
    "io": ["core", "nn"],
    "rl": ["core", "nn", "io"],
    "learned": ["core", "sync", "sync/rivals", "encode", "nn", "io"],
    "sim": ["core", "sync", "encode", "nn", "rl"],
    "adapt": ["core", "sync", "sync/rivals", "sync/extras", "nn", "encode", "io", "learned"],
    "cuda": ["core", "sync", "encode", "nn", "rl", "sim"],
}
MAY_INCLUDE["adapt/train"] = list(MAY_INCLUDE)

# Whose page has another name than the folder.
PAGES = {"adapt/train": "adapt"}

EMBEDDING = ["core", "sync", "sync/rivals", "sync/extras", "encode", "nn", "learned", "io"]
FOR_HOSTS = ("rubato.hpp", "rivals.hpp", "io.hpp")
UMBRELLA_MAY_INCLUDE = {
    "rubato.hpp": EMBEDDING,
    "io.hpp": EMBEDDING,
    "sync.hpp": ["core", "sync"],
    "rivals.hpp": ["core", "sync", "sync/rivals"],
    "rl.hpp": EMBEDDING + ["rl"],
    "sim.hpp": EMBEDDING + ["rl", "sim"],
    "adapt.hpp": EMBEDDING + ["rl", "sim", "adapt", "adapt/train"],
}
# What these leave out, of the folders that it may include: a host that wants it includes it, or rl.hpp.
NOT_FOR_HOSTS = ("sync/extras/", "nn/batch_workspace.hpp", "nn/initialiser.hpp", "nn/kernels/instances.hpp",
                 "nn/kernels/training/", "nn/loss.hpp", "nn/lstm.hpp", "nn/optimiser.hpp", "nn/training_concepts.hpp")
# Every folder may include these; they include only each other.
BASE = {"version.hpp", "config.hpp", "pinned.hpp", "dynarray.hpp", "fwd.hpp"}

# The standard library has no dots in its names; what else a header may use, besides CUDA's own under cuda/.
SYSTEM_HEADERS = {"immintrin.h", "cpuid.h", "arm_neon.h", "fcntl.h", "unistd.h", "sys/stat.h"}

CORE_AND_SYNC_LINES = 4524
LINES_WARN, LINES_FAIL = 500, 600
COLUMNS = 120

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(relative):
    """The layer of a path below include/rubato; "" for files directly in it."""
    folder = relative.parent.as_posix()
    while folder not in MAY_INCLUDE and "/" in folder:
        folder = folder.rsplit("/", 1)[0]
    return "" if folder == "." else folder


def check_include(root, header, quote, name):
    """What is wrong with this include in `header` (a path below root), or None."""
    if quote == "<":
        if name.startswith("rubato/"):
            return f"includes <{name}>: inside the library includes are relative"
        standard = "." not in name and "/" not in name
        if standard or name in SYSTEM_HEADERS or folder_of(header) == "cuda":
            return None
        return f"includes <{name}>: not a standard header"
    target_path = (root / header.parent / name).resolve()
    if not target_path.is_file() or not target_path.is_relative_to(root):
        return f'includes "{name}": no such file in the library'
    target = target_path.relative_to(root)
    source_folder, target_folder = folder_of(header), folder_of(target)
    if target.as_posix() in BASE:
        return None
    if not target_folder:
        return f"includes {target}: an umbrella header is for users only"
    if source_folder:
        allowed = MAY_INCLUDE[source_folder] + [source_folder]
    else:
        allowed = UMBRELLA_MAY_INCLUDE.get(header.name, [])
    if target_folder not in allowed:
        return f"upward include of {target}: {source_folder or header.name} may include {', '.join(allowed) or 'std'}"
    return None


def left_out(root):
    """The headers of embedding folders that neither the umbrellas for hosts nor what they include includes."""
    reached, waiting = set(), [root / umbrella for umbrella in FOR_HOSTS]
    while waiting:
        path = waiting.pop()
        if path in reached or not path.is_file():
            continue
        reached.add(path)
        matches = map(INCLUDE.match, path.read_text(encoding="utf-8").splitlines())
        waiting += [(path.parent / match[2]).resolve() for match in matches if match and match[1] == '"']
    for path in sorted(root.rglob("*.hpp")):
        header = path.relative_to(root)
        if folder_of(header) in EMBEDDING and not header.as_posix().startswith(NOT_FOR_HOSTS) and path not in reached:
            yield header


def check(repository):
    """Returns (errors, warnings) for a repository."""
    root = (pathlib.Path(repository) / "include" / "rubato").resolve()
    errors, warnings, core_and_sync = [], [], 0
    headers = sorted(p for p in root.rglob("*") if p.suffix in {".hpp", ".cuh", ".h"})
    if not headers:
        return [f"{root}: no headers"], []
    for path in headers:
        header = path.relative_to(root)
        where = f"include/rubato/{header}"
        folder = folder_of(header)
        if folder and folder not in MAY_INCLUDE:
            errors.append(f"{where}: folder '{folder}' is not in the table of layers")
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if folder in ("core", "sync"):
            core_and_sync += len(lines)
        if len(lines) > LINES_FAIL:
            errors.append(f"{where}: {len(lines)} lines, at most {LINES_FAIL} allowed")
        elif len(lines) > LINES_WARN:
            warnings.append(f"{where}: {len(lines)} lines, {LINES_WARN} wanted")
        page = pathlib.Path(repository) / "docs" / f"{PAGES.get(folder, folder.rsplit('/', 1)[-1])}.md"
        mention = f"`{path.name}`" if path.parent == root / folder else f"`{path.parent.name}/`"
        if folder and page.is_file() and mention not in page.read_text(encoding="utf-8"):
            errors.append(f"{where}: not mentioned in docs/{page.name}")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS:
                errors.append(f"{where}:{number}: {len(line)} columns, at most {COLUMNS} allowed")
            if match := INCLUDE.match(line):
                if problem := check_include(root, header, *match.groups()):
                    errors.append(f"{where}:{number}: {problem}")
    if (root / "rubato.hpp").is_file():
        errors += [f"include/rubato/{header}: {' and '.join(FOR_HOSTS)} do not include it" for header in left_out(root)]
    if core_and_sync > CORE_AND_SYNC_LINES:
        errors.append(f"core and sync: {core_and_sync} lines, at most {CORE_AND_SYNC_LINES} allowed")
    return errors, warnings


def main():
    repository = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]
    errors, warnings = check(repository)
    for line in warnings:
        print(f"warning: {line}")
    for line in errors:
        print(f"error: {line}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
