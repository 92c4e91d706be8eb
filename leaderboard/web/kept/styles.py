"""Style sheets: written into the pages that wear them, so that what is painted first waits for one answer."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from flask import Flask
from markupsafe import Markup

FOLDER = Path(__file__).parent.parent / "styles"
JOINED = {"app": ("charts", "app")}
"""Sheets that pages write as one; drawings in files of their own wear the first alone."""


def register(app: Flask) -> None:
    """Templates write a sheet by its name, as in style("app")."""
    app.jinja_env.globals["style"] = element


def element(name: str) -> Markup:
    """The element with a sheet; its bytes are those that the policy of content names."""
    return Markup("<style>{}</style>").format(Markup(sheets()[name]))


@cache
def sheets() -> dict[str, str]:
    """The text of every sheet by its name; read once, as a new version of the site is a new process."""
    names = sorted(path.stem for path in FOLDER.glob("*.css"))
    return {name: "".join(_text(part) for part in JOINED.get(name, (name,))) for name in names}


def _text(name: str) -> str:
    return (FOLDER / f"{name}.css").read_text(encoding="utf-8")


def sources() -> str:
    """What a policy of content allows as style: these sheets and not a byte else."""
    digests = (hashlib.sha256(text.encode()).digest() for text in sheets().values())
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
