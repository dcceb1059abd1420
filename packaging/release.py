#!/usr/bin/env python3
"""What has to agree before a version is tagged: name, version and licence wherever a package manager or a page has them.

usage: release.py          a line for each disagreement; exit status 1 if there is one
       release.py OUT      then, of the commit that is checked out, the files of a release in OUT: archive of the sources,
                           rubato_single.hpp, SHA256SUMS; and the command that tags it. The tree must be committed, and
                           the changelog must have the version's date.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

from single_header import ROOT, UMBRELLAS, single_header, version

# What is written elsewhere: (file, pattern with the value in a group, value). {version} and {series} are 1.2.3 and 1.2.
WRITTEN = [
    ("CMakeLists.txt", r"^project\((\w+)", "rubato"),
    ("cmake/library.cmake", r"^add_library\((\S+) ALIAS rubato\)", "rubato::rubato"),
    ("cmake/install.cmake", r"EXPORT rubatoTargets NAMESPACE (\S+)", "rubato::"),
    ("cmake/install.cmake", r"EXPORT rubato_\$\{part\} NAMESPACE (\S+)", "rubato::"),
    ("cmake/rubato.pc.in", r"^Name: (.*)$", "rubato"),
    ("cmake/rubato.pc.in", r"^License: (.*)$", "Apache-2.0"),
    ("packaging/single_header.py", r"// SPDX-License-Identifier: ([\w.-]+)", "Apache-2.0"),
    ("packaging/conan/conanfile.py", r'^    name = "(.*)"$', "rubato"),
    ("packaging/conan/conanfile.py", r'^    license = "(.*)"$', "Apache-2.0"),
    ("packaging/vcpkg/rubato/usage", r"PRIVATE (rubato::rubato)\)", "rubato::rubato"),
    ("packaging/vcpkg/rubato/usage", r"find_package\((\w+) CONFIG REQUIRED\)", "rubato"),
    ("packaging/vcpkg/rubato/vcpkg.json", r'^  "name": "(.*)"', "rubato"),
    ("packaging/vcpkg/rubato/vcpkg.json", r'^  "version": "(.*)"', "{version}"),
    ("packaging/vcpkg/rubato/vcpkg.json", r'^  "license": "(.*)"', "Apache-2.0"),
    ("packaging/vcpkg/rubato/vcpkg.json", r'^  "supports": "(.*)"', "linux"),
    ("examples/project/CMakeLists.txt", r"find_package\(rubato (\S+)", "{series}"),
    ("examples/project/conanfile.py", r'"rubato/(\S+)"', "{version}"),
    ("README.md", r"find_package\(rubato ([\d.]+)", "{series}"),
    ("docs/install.md", r"find_package\(rubato ([\d.]+)", "{series}"),
    ("docs/install.md", r"GIT_TAG v(\S+)\)", "{version}"),
    ("docs/install.md", r"conan remove -c rubato/(\S+)`", "{version}"),
    ("docs/faq.md", r"\bVersion ([\d.]+\d)", "{series}"),
    ("CHANGELOG.md", r"^## (\S+)", "{version}"),  # the newest entry
]
FIRST_ALONE = {"CHANGELOG.md"}
FOUND_ELSEWHERE = ["packaging/conan/conanfile.py", "CMakeLists.txt"]  # these read the version


def components(root):
    """Of the installed CMake package."""
    table = (root / "cmake/components.cmake").read_text(encoding="utf-8")
    return re.search(r"^set\(_rubato_components (.*)\)$", table, re.MULTILINE)[1].split()


def disagreements(root):
    current = version(root)
    series = current.rsplit(".", 1)[0]
    for path, pattern, value in WRITTEN:
        found = re.findall(pattern, (root / path).read_text(encoding="utf-8"), re.MULTILINE)
        expected = value.format(version=current, series=series)
        if (found[:1] if path in FIRST_ALONE else found) != [expected]:
            yield f"{path}: found {', '.join(found) or 'nothing'} by '{pattern}', expected {expected}, once"
    for path in FOUND_ELSEWHERE:
        if current in (root / path).read_text(encoding="utf-8"):
            yield f"{path}: found {current}, expected it to be read from version.hpp"

    port = json.loads((root / "packaging/vcpkg/rubato/vcpkg.json").read_text(encoding="utf-8"))
    for feature in sorted(set(port["features"]) - set(components(root))):
        yield f"vcpkg.json: the feature {feature} is no component of the installed package"
    for dependency in port["dependencies"]:
        if not dependency.get("host"):
            yield f"vcpkg.json: {dependency['name']} would reach who uses the port"
    told = re.findall(r"^\| `(\w+)` \|", (root / "docs/install.md").read_text(encoding="utf-8"), re.MULTILINE)
    if set(told) != set(components(root)):
        yield f"docs/install.md: it has the components {', '.join(sorted(told))}, expected {', '.join(components(root))}"


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], text=True, capture_output=True, check=True).stdout.strip()


def not_ready(root):
    """What else keeps the version from being tagged."""
    current = version(root)
    if git(root, "status", "--porcelain"):
        yield "the tree has changes that are not committed"
    if git(root, "tag", "--list", f"v{current}"):
        yield f"there is a tag v{current} already"
    heading = re.search(r"^## .*$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0]
    if not re.fullmatch(rf"## {re.escape(current)} \(\d{{4}}-\d\d-\d\d\)", heading):
        yield f"CHANGELOG.md: found '{heading}', expected '## {current} (YEAR-MONTH-DAY)'"
    if "unreleased" in (root / "docs/faq.md").read_text(encoding="utf-8"):
        yield "docs/faq.md: found 'unreleased'"


def write_files(root, out):
    current = version(root)
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"rubato-{current}.tar.gz", out / "rubato_single.hpp"]
    git(root, "archive", f"--prefix=rubato-{current}/", f"--output={files[0].resolve()}", "HEAD")
    files[1].write_text(single_header(UMBRELLAS), encoding="utf-8")
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(f"{out}: {', '.join(file.name for file in files)}, SHA256SUMS\ngit tag -a v{current} -m 'rubato {current}'")


def main(arguments):
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    findings = [*disagreements(ROOT), *(not_ready(ROOT) if arguments else [])]
    for finding in findings:
        print(f"error: {finding}")
    if findings:
        return 1
    if arguments:
        write_files(ROOT, pathlib.Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
