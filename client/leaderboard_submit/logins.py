"""Tokens of this machine's user, a file for all sites, readable by nobody else."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from leaderboard_submit.errors import NotAllowed, Refused

URL, TOKEN = "LEADERBOARD_URL", "LEADERBOARD_TOKEN"
"""Environment variables that win over the file."""
PLACES = {"personal": "sites", "agent": "agents"}
"""Kind of token -> where the file has it: an agent never acts by the token of a person."""


def path() -> Path:
    """Where the file is."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or str(Path.home())
    else:
        base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "leaderboard-submit" / "sites.json"


def keep(url: str, token: str, kind: str = "personal") -> None:
    """Keep a token of a kind, and take its site for the usual one."""
    stored = _stored()
    stored[PLACES[kind]][url] = token
    stored["site"] = url
    _write(stored)


def forget(url: str) -> None:
    """Forget a site's tokens."""
    stored = _stored()
    for place in PLACES.values():
        stored[place].pop(url, None)
    if stored["site"] == url:
        stored["site"] = next(iter(stored["sites"]), "")
    _write(stored)


def site(given: str | None = None) -> str:
    """The address of the site to ask; raises NotAllowed where none is known."""
    url = given or os.environ.get(URL) or _stored()["site"]
    if not url:
        raise NotAllowed(
            "No site is configured.", f"Run `leaderboard-submit login ADDRESS`, or set {URL} and {TOKEN}."
        )
    return str(url).rstrip("/")


def token(url: str, kind: str = "personal") -> str | None:
    """The token of a kind for a site, None for none; the environment's is taken for any."""
    return os.environ.get(TOKEN) or _stored()[PLACES[kind]].get(url)


def _stored() -> dict[str, Any]:
    try:
        stored = json.loads(path().read_text("utf-8"))
        return {"site": str(stored["site"]), **{key: dict(stored.get(key, {})) for key in PLACES.values()}}
    except FileNotFoundError:
        return {"site": "", **{key: {} for key in PLACES.values()}}
    except (ValueError, KeyError, TypeError):
        raise Refused(f"{path()} cannot be read.", "Remove it, and log in again.") from None


def _write(stored: dict[str, Any]) -> None:
    folder = path().parent
    folder.mkdir(parents=True, exist_ok=True)
    # Made for its owner alone, and put in place whole: no moment at which others read it or half is there.
    handle, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(stored, file, indent=1)
    os.replace(name, path())
