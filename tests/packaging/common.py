"""What the packaging checks share."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
from release import components
from single_header import version as header_version  # noqa: F401, for those who import this

CONSUMER = ROOT / "tests" / "consumer"


def library_headers():
    """Paths of the library's headers below include/."""
    return files_below(ROOT / "include")


def host_headers():
    """Paths of the headers of integrations/ below include/."""
    return set().union(*(files_below(include) for include in (ROOT / "integrations").glob("*/include")))


def package_files():
    """Names of the files of the CMake package."""
    parts = [*components(ROOT), "gloo_ps_seam"]
    return {"rubatoConfig.cmake", "rubatoConfigVersion.cmake", "rubatoComponents.cmake", "rubatoTargets.cmake",
            *(f"rubato-{part}.cmake" for part in parts)}


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in pathlib.Path(folder).rglob("*") if path.is_file()}


def run(*command):
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))} failed:\n{done.stdout}"
    return done.stdout


def equal(what, found, expected):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"


def conan_client():
    """The client of Conan 2: the one on PATH, else one from PyPI in a virtual environment below build/; None if it cannot
    be had."""
    if found := shutil.which("conan"):
        return found
    client = ROOT / "build" / "conan" / "bin" / "conan"
    for command in ([sys.executable, "-m", "venv", client.parents[1]],
                    [client.parent / "pip", "install", "-q", "conan>=2,<3"]):
        if not client.exists():
            try:
                subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            except (OSError, subprocess.CalledProcessError):
                return None
    return str(client)
