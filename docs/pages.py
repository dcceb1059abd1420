"""The pages of the documentation."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def pages(root=ROOT):
    return [root / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] + sorted(
        [*(root / "docs").glob("*.md"), *(root / "integrations").glob("*/README.md")])
