"""Copies of the headers with a bug in them, for checks that have to notice it."""
import shutil


def plant(root, folder, header, text, other):
    """Copies ROOT/include to `folder`, with `text`, which has to occur once in rubato/`header`, replaced by `other`."""
    source = (root / "include" / "rubato" / header).read_text(encoding="utf-8")
    if source.count(text) != 1:
        raise ValueError(f"{header} has {source.count(text)} times what is to be changed, expected once")
    shutil.copytree(root / "include", folder)
    (folder / "rubato" / header).write_text(source.replace(text, other), encoding="utf-8")
