"""The documentation as a site: `python -m sphinx -W --keep-going -c docs . build/site`.

The repository is the source, so that links work in both. The navigation is the lists of docs/index.md: a
section is a door, its links are the door's pages. Documents that it does not name follow in the last one.
"""

import re
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
START = "docs/index"
OUTSIDE = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "client/README.md",
    "benchmarks/README.md",
]
"""Documents that live next to what they describe."""

project = author = "Leaderboard"
project_copyright = "Leaderboard's authors, Apache-2.0"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = START
include_patterns = ["docs/**.md", *OUTSIDE]
# Whatever else a checkout may hold need not be walked through.
exclude_patterns = [
    "**/.*",
    ".*",
    "build",
    "leaderboard",
    "leaderboard-data",
    "migrations",
    "templates",
    "tests",
]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.strikethrough"]

html_theme = "furo"
html_title = "Leaderboard"
html_static_path = ["site/site.css"]
html_css_files = ["site.css"]
html_extra_path = ["site/index.html"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None


def sections(text: str, folder: str) -> list[tuple[str, list[str]]]:
    """The doors of the start page, each with the names of the documents that its links lead to, in order."""
    found = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        links = re.findall(r"\]\((?!\w+:)([^)#]+)\.md\)", rest)
        named = [Path(folder, link).resolve().relative_to(ROOT).as_posix() for link in links]
        found.append((title, list(dict.fromkeys(named))))
    return found


def _navigation(text: str, documents: set[str]) -> str:
    doors = sections(text, str(ROOT / "docs"))
    named = {name for _, names in doors for name in names}
    doors[-1][1].extend(sorted(documents - named - {START}))
    trees = [f"```{{toctree}}\n:caption: {title}\n:hidden:\n/" + "\n/".join(names) for title, names in doors]
    return "\n\n".join(f"{tree}\n```" for tree in trees)


def _add_navigation(app: Sphinx, name: str, content: list[str]) -> None:
    if name == START:
        content[0] += "\n\n" + _navigation(content[0], app.env.found_docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """Build the navigation when the start page is read."""
    # Diagrams are drawn where the repository is read; here their text stands.
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", _add_navigation)
    # The navigation changes with the set of documents, which the start page's own text does not tell.
    app.connect("env-get-outdated", lambda *_: [START])
    return {"parallel_read_safe": True}
