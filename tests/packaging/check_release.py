#!/usr/bin/env python3
"""packaging/release.py: finds nothing in the tree, each thing that is changed, and makes the files of a release."""
import hashlib
import pathlib
import re
import subprocess
import tempfile

from common import ROOT, equal, header_version

import release


def copied(folder):
    """What release.py reads, in a folder of its own."""
    for path in {path for path, _, _ in release.WRITTEN} | {"include/rubato/version.hpp", "cmake/components.cmake"}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes((ROOT / path).read_bytes())
    return folder


def changed(path, pattern, replacement):
    """The findings after the group of a pattern, or all of it, was replaced in a file."""
    with tempfile.TemporaryDirectory() as folder:
        root = copied(pathlib.Path(folder))
        text = (root / path).read_text(encoding="utf-8")
        found = re.search(pattern, text, re.MULTILINE)
        at = found.span(found.re.groups)
        (root / path).write_text(text[:at[0]] + replacement + text[at[1]:], encoding="utf-8")
        return list(release.disagreements(root))


def finds_each_change():
    equal("findings in the tree", list(release.disagreements(ROOT)), [])
    for path, pattern, _ in release.WRITTEN:
        findings = changed(path, pattern, "7.7.7")
        assert any(finding.startswith(f"{path}: ") for finding in findings), f"{path}: 7.7.7 was not found, but {findings}"
    for path in release.FOUND_ELSEWHERE:
        assert any("version.hpp" in finding for finding in changed(path, r"\Z", f"# {header_version()}\n")), path
    port = "packaging/vcpkg/rubato/vcpkg.json"
    assert any("sparkle" in finding for finding in changed(port, r'"(gloo)": \{', "sparkle"))
    assert any("the components" in finding for finding in changed("docs/install.md", r"^\| `(ps_lite)` \|", "sparkle"))
    assert any("vcpkg-cmake would" in finding for finding in changed(port, r'"host": (true)', "false"))
    everywhere = changed("include/rubato/version.hpp", r"VERSION_PATCH (\d+)", "5")
    equal("files that still have the old version", {finding.split(":")[0] for finding in everywhere},
          {path for path, _, value in release.WRITTEN if "{version}" in value})


def makes_the_files():
    version = header_version()
    with tempfile.TemporaryDirectory() as folder:
        root, out = copied(pathlib.Path(folder, "tree")), pathlib.Path(folder, "out")

        def git(*words):
            return subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *words], cwd=root,
                                  check=True, capture_output=True)

        git("init", "-q")
        assert [finding for finding in release.not_ready(root) if "not committed" in finding]
        for path, old, new in (("CHANGELOG.md", r"^## (\S+) .*$", r"## \1 (2001-02-03)"), ("docs/faq.md", ", unreleased", "")):
            text = (root / path).read_text(encoding="utf-8")
            (root / path).write_text(re.sub(old, new, text, count=1, flags=re.MULTILINE), encoding="utf-8")
        git("add", "-A")
        git("commit", "-q", "-m", "tree")
        equal("what keeps a dated tree from being tagged", list(release.not_ready(root)), [])
        release.write_files(root, out)
        sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
        equal("files", set(sums), {f"rubato-{version}.tar.gz", "rubato_single.hpp"})
        for name, expected in sums.items():
            equal(f"sum of {name}", hashlib.sha256((out / name).read_bytes()).hexdigest(), expected)
        packed = subprocess.run(["tar", "-tzf", out / f"rubato-{version}.tar.gz"], check=True, capture_output=True, text=True)
        assert f"rubato-{version}/README.md" in packed.stdout.splitlines()
        git("tag", f"v{version}")
        assert [finding for finding in release.not_ready(root) if "tag" in finding]
        undated = root / "CHANGELOG.md"
        undated.write_text(f"## {version} (unreleased)\n", encoding="utf-8")
        assert [finding for finding in release.not_ready(root) if "YEAR-MONTH-DAY" in finding]


if __name__ == "__main__":
    finds_each_change()
    makes_the_files()
