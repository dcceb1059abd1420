"""What the packaging checks share."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = ROOT / "tests" / "consumer"


def header_version():
    header = (ROOT / "include" / "rubato" / "version.hpp").read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define RUBATO_VERSION_{part} (\d+)$", header, re.MULTILINE)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def library_headers():
    """Paths of the library's headers below include/."""
    return files_below(ROOT / "include")


def host_headers():
    """Paths of the headers of integrations/ below include/."""
    return set().union(*(files_below(include) for include in (ROOT / "integrations").glob("*/include")))


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in pathlib.Path(folder).rglob("*") if path.is_file()}


def run(*command):
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))} failed:\n{done.stdout}"
    return done.stdout


def equal(what, found, expected):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"
