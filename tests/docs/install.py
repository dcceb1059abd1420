#!/usr/bin/env python3
"""Replays the transcripts of docs/install.md: each `sh` block in an empty folder of its own, as a user would type it, with
the output of its last command compared with the block that follows. Six commands at most, two minutes at most.

usage: install.py ROOT [HEADING]...     HEADING: only these, say Conan. CXX: the compiler that CMake takes.
The section on Conan needs its client: the one on PATH, else one from PyPI in a virtual environment below build/; where
neither can be had it is left out, and the last line says so. Exit: 0 fine, 1 not, 77 the rest is fine.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "packaging"))
from common import SKIPPED, conan_client

TRANSCRIPT = re.compile(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```sh\n(.*?)^```\n\n^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = 6
SECONDS = 120


def repository_of(root, folder):
    """A repository that a user could clone: of the tree as it is, committed or not."""
    shutil.copytree(root, folder, ignore=lambda at, names: {"build", ".git"} & set(names) if at == str(root) else ())
    for command in (["init", "-q"], ["add", "-A"],
                    ["-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m", "tree"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def replay(repository, commands, expected, path):
    """Runs a transcript in an empty folder; what is wrong with it, or nothing."""
    if len(re.split(r"&&|;|\n", commands.strip())) > COMMANDS:
        return f"more than {COMMANDS} commands"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "RUBATO": str(repository), "CONAN_HOME": f"{folder}/.conan", "PATH": path, "HOME": folder}
        environment.pop("CXXFLAGS", None)
        *first, last = commands.strip().splitlines()
        where = pathlib.Path(folder, "empty")
        where.mkdir()
        script = "set -euo pipefail\n{\n" + "\n".join(first) + "\n} >../log 2>&1\n" + last + "\n"
        begin = time.monotonic()
        try:
            done = subprocess.run(["bash", "-c", script], cwd=where, env=environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"not done after {SECONDS} s"
        taken = time.monotonic() - begin
        if done.returncode != 0:
            log = pathlib.Path(folder, "log").read_text(encoding="utf-8").splitlines()[-40:]
            return "\n".join([f"it ends with {done.returncode}:", *log, done.stdout])
        if done.stdout != expected:
            return f"it prints\n{done.stdout}expected\n{expected}"
        print(f"{taken:6.1f} s", end="  ")
        return None


def main(arguments):
    root = pathlib.Path(arguments[0]).resolve()
    wanted = arguments[1:]
    found = TRANSCRIPT.findall((root / "docs" / "install.md").read_text(encoding="utf-8"))
    unknown = set(wanted) - {heading for heading, _, _ in found}
    if len(found) < 6 or unknown:
        print(f"docs/install.md: {len(found)} transcripts, none called {unknown or 'otherwise'}; expected six at least")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        repository_of(root, f"{folder}/rubato")
        return replay_all(pathlib.Path(folder, "rubato"), [each for each in found if not wanted or each[0] in wanted])


def replay_all(repository, transcripts):
    status, left_out = 0, []
    for heading, commands, expected in transcripts:
        path = os.environ["PATH"]
        if "conan" in commands:
            client = conan_client()
            if client is None:
                left_out.append(heading)
                continue
            path = f"{pathlib.Path(client).parent}{os.pathsep}{path}"
        wrong = replay(repository, commands, expected, path)
        print(f"{heading}: {wrong or 'as printed'}")
        status = status or (1 if wrong else 0)
    if left_out:
        print(f"left out, since the client of Conan cannot be had: {', '.join(left_out)}")
    return status or (SKIPPED if left_out else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
