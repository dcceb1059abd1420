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
SKIPPED = 77  # the exit status of a test that lacks what it needs


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
    be had, and then a line says why."""
    found = shutil.which("conan")
    if found and subprocess.run([found, "--version"], capture_output=True, text=True).stdout.startswith("Conan version 2."):
        return found
    client = ROOT / "build" / "conan" / "bin" / "conan"
    for command in ([sys.executable, "-m", "venv", client.parents[1]],
                    [client.parent / "pip", "install", "-q", "conan>=2,<3"]):
        if not client.exists():
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            except OSError as error:
                print(f"no client of Conan: {error}")
                return None
            if done.returncode:
                print(f"no client of Conan: {(done.stdout.strip().splitlines() or [f'{command[0]} failed'])[-1]}")
                return None
    return str(client)
