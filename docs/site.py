#!/usr/bin/env python3
"""Builds the site into build/site: the pages of the tree by MkDocs, the reference of all public symbols by Doxygen. Open
build/site/index.html.

usage: site.py        needs doxygen, and MkDocs with its theme Material, which comes from PyPI into build/site_tools; where
                      that cannot be had it ends with 77
"""
import os
import re
import shutil
import subprocess
import sys

from pages import ROOT, pages

PAGES = ROOT / "build" / "site_pages"
SITE = ROOT / "build" / "site"
TOOLS = ROOT / "build" / "site_tools"
LINK = re.compile(r"(\[[^\]]*\])\(([^)#\s]+)(#[^)\s]*)?\)")
THEME = "mkdocs-material==9.8.2"
NAVIGATION = re.compile(r"^ +- (?:[^:]+: )?(\S+\.md)$", re.MULTILINE)
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def with_links(page, all_pages):
    """The text of a page. What it links to besides other pages is copied, as text that a browser shows; a folder's name
    stays, without a link."""
    def target_of(match):
        words, target, anchor = match[1], match[2], match[3] or ""
        there = (page.parent / target).resolve()
        if target.startswith(("http://", "https://")) or there in all_pages:
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


def install_tools():
    if (TOOLS / "bin" / "mkdocs").exists():
        return
    run(sys.executable, "-m", "venv", TOOLS)
    installed = subprocess.run([TOOLS / "bin" / "pip", "install", "-q", THEME], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
    if installed.returncode != 0:
        print(f"site.py: {THEME} cannot be had from PyPI: {installed.stdout.strip().splitlines()[-1]}")
        sys.exit(77)


def main():
    install_tools()
    all_pages = pages()
    listed = NAVIGATION.findall((ROOT / "docs" / "mkdocs.yml").read_text(encoding="utf-8"))
    if differ := set(listed) ^ {page.relative_to(ROOT).as_posix() for page in all_pages}:
        sys.exit(f"docs/mkdocs.yml: its nav and the tree differ in {', '.join(sorted(differ))}")
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in all_pages:
        copy = PAGES / page.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(with_links(page, all_pages), encoding="utf-8")
    run(sys.executable, "docs/reference.py", PAGES / "reference")
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # an advertisement of the theme, which strict mode would count
    run(TOOLS / "bin" / "mkdocs", "build", "-f", "docs/mkdocs.yml")
    print(SITE / "index.html")


if __name__ == "__main__":
    main()
