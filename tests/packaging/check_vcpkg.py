#!/usr/bin/env python3
"""Runs the vcpkg portfile without vcpkg: shim.cmake stands in for its helpers. This checks what the port does and the tree
it makes, not the vcpkg client."""
import pathlib
import shutil
import subprocess
import tempfile

from common import CONSUMER, ROOT, equal, files_below, header_version, host_headers, library_headers, package_files, run

PORT = ROOT / "packaging" / "vcpkg" / "rubato"


def install_command(port, packages, folder):
    return ("cmake", f"-DPORT_DIR={port}", f"-DCURRENT_PACKAGES_DIR={packages}",
            f"-DCURRENT_BUILDTREES_DIR={folder}/buildtrees", "-P", pathlib.Path(__file__).parent / "shim.cmake")


def refuses_a_copy(folder):
    """A port that was copied out of its tree."""
    copied = shutil.copytree(PORT, pathlib.Path(folder, "somewhere", "else", "rubato"))
    done = subprocess.run(install_command(copied, f"{folder}/none", folder), capture_output=True, text=True, check=False)
    assert done.returncode and "not a copy of it" in " ".join(done.stderr.split()), f"a copied port says {done.stderr}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        refuses_a_copy(folder)
        packages = pathlib.Path(folder, "packages")
        run(*install_command(PORT, packages, folder))
        share = {f"share/rubato/{name}" for name in ("copyright", "usage", *package_files())}
        headers = {f"include/{header}" for header in library_headers() | host_headers()}
        equal("files of the port", files_below(packages), share | headers | {"share/pkgconfig/rubato.pc"})
        equal("folders of the port", {path.name for path in packages.iterdir()}, {"include", "share"})
        build = pathlib.Path(folder, "build")
        run("cmake", "-S", CONSUMER, "-B", build, "-DMODE=find_package", f"-DVERSION={header_version()}",
            f"-DCMAKE_PREFIX_PATH={packages}", "-DCOMPONENTS=threads_ps")
        run("cmake", "--build", build)
        print(run(build / "consumer"), run(build / "use_threads_ps"), sep="", end="")


if __name__ == "__main__":
    main()
