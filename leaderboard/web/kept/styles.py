"""Style sheets as parts of pages that may be kept; who is signed in has them as files.

A visitor's first page waits for one answer that way, not for a second one that comes after it. Kept pages are
sent packed, so that it costs them 5 to 7 KB; those of who is signed in are not, and their browsers have the
files already.
"""

import base64
import hashlib
from functools import cache

from flask import Flask
from markupsafe import Markup

from leaderboard.web.kept.static import FOLDER, sent_bytes

NAMES = ("app", "board", "matrix")
"""Of the sheets that pages wear that may be kept."""


def register(app: Flask) -> None:
    """Templates have the element of each of these sheets by its name, as in sheets["app"]."""
    app.jinja_env.globals["sheets"] = {
        name: Markup("<style>{}</style>").format(Markup(text)) for name, text in sheets().items()
    }


@cache
def sheets() -> dict[str, str]:
    """The text of these sheets by their names; read once, as a new version of the site is a new process."""
    return {name: sent_bytes(FOLDER / f"{name}.css").decode() for name in NAMES}


def sources() -> str:
    """What a policy of content allows of styles that are written into pages: these, and not a byte else."""
    digests = (hashlib.sha256(text.encode()).digest() for text in sheets().values())
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
