#!/usr/bin/env python3
"""Builds the site into build/site: the pages of the tree by MkDocs, the reference of all public symbols by Doxygen. Open
build/site/index.html.

usage: site.py        needs doxygen, and MkDocs with its theme Material, which comes from PyPI into build/site_tools
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "docs"))
from check import pages as pages_of

PAGES = ROOT / "build" / "site_pages"
SITE = ROOT / "build" / "site"
TOOLS = ROOT / "build" / "site_tools"
LINK = re.compile(r"(\[[^\]]*\])\(([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def with_links(page, pages):
    """The text of a page. What it links to besides other pages is copied, as text that a browser shows; a folder's name
    stays, without a link."""
    def target_of(match):
        words, target, anchor = match[1], match[2], match[3] or ""
        there = (page.parent / target).resolve()
        if target.startswith(("http://", "https://")) or there in pages:
            return match[0]
        if not there.is_file():
            return words[1:-1]
        suffix = "" if there.suffix in (".svg", ".png") else ".txt"
        copy = PAGES / there.relative_to(ROOT)
        copy = copy.with_name(copy.name + suffix)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(there, copy)
        return f"{words}({target}{suffix}{anchor})"

    parts = FENCE.split(page.read_text(encoding="utf-8"))
    return "".join(part if part.startswith("```") else LINK.sub(target_of, part) for part in parts)


def run(*command):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")


def main():
    if not (TOOLS / "bin" / "mkdocs").exists():
        run(sys.executable, "-m", "venv", TOOLS)
        run(TOOLS / "bin" / "pip", "install", "-q", "mkdocs-material>=9.5,<10")
    shutil.rmtree(PAGES, ignore_errors=True)
    pages = pages_of(ROOT)
    for page in pages:
        copy = PAGES / page.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(with_links(page, pages), encoding="utf-8")
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    run(TOOLS / "bin" / "mkdocs", "build", "-q", "-f", "docs/mkdocs.yml")
    run(sys.executable, "docs/reference.py", SITE / "reference")
    print(SITE / "index.html")


if __name__ == "__main__":
    main()
