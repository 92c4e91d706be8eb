"""Where public files are: the folder of a mirror, or the address of a site or mirror."""

import hashlib
import json
import shutil
import time
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from leaderboard import __version__
from leaderboard.bundles.ops.opening import KEPT_FREE
from leaderboard.errors import Invalid, NoRoom

TIMEOUT_S, TRIES, LONGEST_PAUSE_S = 120, 6, 60.0
BUSY = (429, 503)
"""Answers after which a site is asked again."""
PIECE = 2**20


class Place(Protocol):
    """Where the public files of a site are, under the paths that they have there."""

    def get(self, path: str) -> Path | None:
        """A file; None where it is not public."""
        ...

    def why(self, path: str) -> str:
        """Why a file is missing, as far as is said."""
        ...

    def address(self, path: str) -> str:
        """Where a reader finds it."""
        ...


@dataclass(frozen=True, slots=True)
class Folder:
    """A mirror on this machine."""

    root: Path

    def get(self, path: str) -> Path | None:
        """A file of the mirror."""
        found = self.root / path
        return found if found.is_file() and not found.is_symlink() else None

    def why(self, path: str) -> str:
        """Nothing more is known."""
        return "It was not public when the mirror was created."

    def address(self, path: str) -> str:
        """Its path."""
        return str(self.root / path)


@dataclass(slots=True)
class Address:
    """A site or mirror on the web; files are kept in a folder meanwhile."""

    url: str
    folder: Path
    _kept: dict[str, Path | None] = field(default_factory=dict)
    _said: dict[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Path | None:
        """A file, asked for once; raises Invalid where the site does not answer."""
        if path not in self._kept:
            self._kept[path] = self._fetched(path)
        return self._kept[path]

    def why(self, path: str) -> str:
        """What the site said."""
        return self._said.get(path, "The site does not publish it.")

    def address(self, path: str) -> str:
        """Its address."""
        return f"{self.url}/{quote(path)}"

    def _fetched(self, path: str) -> Path | None:
        target = self.folder / hashlib.sha256(path.encode()).hexdigest()
        asked = Request(
            self.address(path),
            headers={"User-Agent": f"leaderboard-verify/{__version__}", "Accept": "application/json, */*"},
        )
        for tries_left in reversed(range(TRIES)):
            try:
                with urlopen(asked, timeout=TIMEOUT_S) as answer, target.open("wb") as file:
                    while piece := answer.read(PIECE):
                        file.write(piece)
                        if shutil.disk_usage(self.folder).free < KEPT_FREE:
                            raise NoRoom(f"The disk is nearly full, so {path} cannot be fetched.")
                return target
            except HTTPError as error:
                if error.code in BUSY and tries_left:
                    time.sleep(_pause_s(error.headers.get("Retry-After", "")))
                    continue
                if error.code >= 500 or error.code in BUSY:
                    raise Invalid(f"{self.address(path)} answered {error.code}. Try again later.") from error
                self._said[path] = _message(error)
                return None
            except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
                why = getattr(error, "reason", None) or error
                raise Invalid(f"{self.url} does not answer: {why}. Check the address.") from error
        return None


def _pause_s(text: str) -> float:
    return min(float(text), LONGEST_PAUSE_S) if text.isdecimal() else 1.0


def _message(error: HTTPError) -> str:
    """What the site says, where it says it as JSON."""
    try:
        facts = json.loads(error.read(PIECE))
        return str(facts.get("detail") or facts.get("message") or facts["title"])
    except (ValueError, LookupError, AttributeError):
        return f"The site answered {error.code}."
