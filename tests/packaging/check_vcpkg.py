#!/usr/bin/env python3
"""Runs the vcpkg portfile without vcpkg: shim.cmake stands in for its helpers. This checks what the port does and the tree
it makes, not the vcpkg client."""
import pathlib
import tempfile

from common import CONSUMER, ROOT, equal, files_below, header_version, host_headers, library_headers, run

PARTS = ("cuda", "cuda_ps", "gloo", "gloo_ps_seam", "mpi", "ps_lite", "threads_ps", "torch")
PORT = ROOT / "packaging" / "vcpkg" / "rubato"


def main():
    with tempfile.TemporaryDirectory() as folder:
        packages = pathlib.Path(folder, "packages")
        run("cmake", f"-DPORT_DIR={PORT}", f"-DCURRENT_PACKAGES_DIR={packages}",
            f"-DCURRENT_BUILDTREES_DIR={folder}/buildtrees", "-P", pathlib.Path(__file__).parent / "shim.cmake")
        share = {f"share/rubato/{name}" for name in ("copyright", "usage", "rubatoConfig.cmake",
                                                     "rubatoConfigVersion.cmake", "rubatoTargets.cmake")}
        share |= {f"share/rubato/components/{part}.cmake" for part in PARTS}
        headers = {f"include/{header}" for header in library_headers() | host_headers()}
        equal("files of the port", files_below(packages), share | headers | {"share/pkgconfig/rubato.pc"})
        equal("folders of the port", {path.name for path in packages.iterdir()}, {"include", "share"})
        build = pathlib.Path(folder, "build")
        run("cmake", "-S", CONSUMER, "-B", build, "-DMODE=find_package", f"-DVERSION={header_version()}",
            f"-DCMAKE_PREFIX_PATH={packages}")
        run("cmake", "--build", build)
        print(run(build / "consumer"), end="")


if __name__ == "__main__":
    main()
