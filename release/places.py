"""What a release says of itself, and where: versions, the changelog, the citation."""

import re
import subprocess
from dataclasses import dataclass
from datetime import date
from pathlib import Path

VERSION = re.compile(r'^(__version__ = ")([^"]*)(")$', re.MULTILINE)
CITED = re.compile(r'^(version|date-released): "(.*)"$', re.MULTILINE)
PACKAGES = ("leaderboard/__init__.py", "client/leaderboard_submit/__init__.py")
"""The site and its client are released together, by one number."""
STATED = re.compile(r"^Schema (\d{4}); openapi\.json ([0-9a-f]{12})\.$", re.MULTILINE)
UNRELEASED = "Unreleased"


@dataclass(frozen=True)
class Release:
    """A version of the repository in a folder, and the day on which it comes out."""

    root: Path
    version: str
    day: date

    @property
    def tag(self) -> str:
        """Its name in git, which the workflow of wheels waits for."""
        return f"v{self.version}"

    def read(self, path: str) -> str:
        """The text of a file of the repository."""
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        """Put a text into a file of the repository."""
        (self.root / path).write_text(text, encoding="utf-8")

    def git(self, *words: str) -> str:
        """What git answers; raises CalledProcessError where it refuses."""
        done = subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()


@dataclass(frozen=True)
class Section:
    """A version's part of the changelog: `day` as written, "" where there is none."""

    name: str
    day: str
    body: str

    @property
    def text(self) -> str:
        """As it stands in the file."""
        heading = f"## [{self.name}]" + (f" - {self.day}" if self.day else "")
        return f"{heading}\n\n{self.body}\n\n" if self.body else f"{heading}\n\n"

    @property
    def heads(self) -> list[str]:
        """The heads of its parts, such as Added, in order."""
        return re.findall(r"^### (.+)$", self.body, re.MULTILINE)


def changelog(text: str) -> tuple[str, list[Section]]:
    r"""What stands above the sections, and the sections, newest first.

    >>> changelog("# Log\n\n## [Unreleased]\n\n## [1.0.0] - 2030-01-31\n\nFirst.\n")[1][1]
    Section(name='1.0.0', day='2030-01-31', body='First.')
    """
    above, *parts = re.split(r"^## \[(.+?)\](?: - ([\d-]+))?$", text, flags=re.MULTILINE)
    thirds = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return above, [Section(name, day or "", body.strip()) for name, day, body in thirds]


def folded(*bodies: str) -> str:
    r"""Several bodies of sections as one that has each head once, in the order in which heads first come.

    >>> folded("### Added\n\n- b", "### Added\n\n- a\n\n### Fixed\n\n- c")
    '### Added\n\n- b\n- a\n\n### Fixed\n\n- c'
    """
    parts: dict[str, list[str]] = {}
    for body in bodies:
        first, *rest = re.split(r"^### (.+)$", body, flags=re.MULTILINE)
        for head, lines in [("", first), *zip(rest[::2], rest[1::2], strict=True)]:
            if lines.strip():
                parts.setdefault(head, []).append(lines.strip())
    joined = {head: "\n".join(lines) for head, lines in parts.items()}
    return "\n\n".join(f"### {head}\n\n{lines}" if head else lines for head, lines in joined.items())
