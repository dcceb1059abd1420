#!/usr/bin/env python3
"""`conan create`, in a cache of its own: the recipe makes the installed tree, test_package finds and uses it with each
compiler that is here, all of them get the same package, and what it cannot be used with is refused.

Exit: 0 fine, 1 not, 77 no client (common.conan_client) or no compiler."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from common import (ROOT, SKIPPED, conan_client, equal, files_below, header_version, host_headers, library_headers,
                    package_files, run)

COMPILERS = {"g++": "gcc", "clang++": "clang"}
REFUSED = {"compiler.cppstd=17": "cppstd (17)", "os=Macos": "is for Linux", "compiler.version=11": "or later, found 11"}


def create(client, tree, profile, *settings):
    """A `conan create` of the tree."""
    words = [word for setting in settings for word in ("-s", setting)]
    return [client, "create", f"{tree}/packaging/conan", "--no-remote", "--profile:all", profile, *words]


def refuses(command, said):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and said in done.stderr, f"{' '.join(command)}: expected '{said}', found\n{done.stderr}"


def printed(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def content(client):
    """Of the only package in the cache: its files."""
    name = f"rubato/{header_version()}"
    (listed,) = json.loads(printed(client, "list", f"{name}:*", "--format=json")).values()
    (revision,) = listed[name]["revisions"].values()
    (package,) = revision["packages"]
    return files_below(printed(client, "cache", "path", f"{name}:{package}").strip())


def main():
    sys.dont_write_bytecode = True
    client = conan_client()
    compilers = [compiler for compiler in COMPILERS if shutil.which(compiler)]
    if not client or not compilers:
        print("left out" if compilers else f"no compiler, expected one of {', '.join(COMPILERS)}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CONAN_HOME"] = os.path.join(folder, "conan")
        tree = pathlib.Path(folder, "tree")  # a copy, since test_package is built in place
        for name in ("cmake", "include", "integrations", "packaging"):
            shutil.copytree(ROOT / name, tree / name)
        for name in ("CMakeLists.txt", "LICENSE"):
            shutil.copy(ROOT / name, tree)
        for compiler in compilers:
            os.environ["CXX"], os.environ["CC"] = compiler, COMPILERS[compiler]
            run(client, "profile", "detect", "--name", compiler)
            run(*create(client, tree, compiler, "compiler.cppstd=20"))
        equal("files of the package", content(client) - {"conaninfo.txt", "conanmanifest.txt"},
              {f"include/{header}" for header in library_headers() | host_headers()} |
              {f"share/cmake/rubato/{name}" for name in package_files()} |
              {"licenses/LICENSE", "share/doc/rubato/LICENSE", "share/pkgconfig/rubato.pc"})
        for setting, said in REFUSED.items():
            settings = {"compiler.cppstd": "20", **dict([setting.split("=")])}
            refuses(create(client, tree, compilers[0], *(f"{name}={value}" for name, value in settings.items())), said)
    print(f"conan create with {' and '.join(compilers)}: good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
