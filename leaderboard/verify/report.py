"""Verified files, unverifiable ones, and differences: as text, as JSON, and as a line to paste."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import date
from html import escape

from leaderboard import __version__

NAMED = 50
"""Differences that the text lists; JSON has all."""
_MARKS = re.compile(r"([\\`*_\[\]<>#|!])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A file that is not what it should be, or a value in it: as printed and as recomputed."""

    file: str
    rule: str = ""
    """A problem of a whole file; '' for a value."""
    run: str = ""
    measure: str = ""
    """The measure, or the name of another value, such as rank."""
    topic: str = ""
    printed: object = None
    recomputed: object = None

    def __str__(self) -> str:
        """One line."""
        if self.rule:
            return f"{self.file}: {self.rule}"
        where = ", ".join(
            f"{head} {value}".strip()
            for head, value in (("run", self.run), ("", self.measure), ("topic", self.topic))
            if value
        )
        return f"{self.file}: {where}: printed {self.printed!r}, recomputed {self.recomputed!r}"


@dataclass(slots=True, eq=False)
class Report:
    """The result of one command, filled while it works."""

    source: str
    values: int = 0
    """Values that were compared."""
    files: int = 0
    """Files whose digest was compared."""
    signatures: int = 0
    """Signatures that fit."""
    checked: list[str] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)
    """What could not be checked -> why."""
    differences: list[Difference] = field(default_factory=list)
    snapshots: list[str] = field(default_factory=list)
    """Addresses of snapshots whose values are equal, the newest first."""

    @property
    def is_empty(self) -> bool:
        """Whether no value was recomputed and nothing differs, so that the scores are not verified."""
        return not (self.values or self.differences)

    @property
    def verdict(self) -> str:
        """The result in a word or two."""
        return "different" if self.differences else "nothing recomputed" if self.is_empty else "equal"

    @property
    def equal(self) -> int:
        """How many values are equal."""
        return self.values - sum(not difference.rule for difference in self.differences)

    @property
    def sum(self) -> str:
        """The sum of it in a few words."""
        return f"{self.equal:,} of {self.values:,} values equal"

    def note(self, sentence: str) -> None:
        """Add a check that succeeded."""
        self.checked.append(sentence)

    def differs(self, file: str, rule: str) -> None:
        """Add a file that is not what it should be."""
        self.differences.append(Difference(file=file, rule=rule))


def as_text(report: Report) -> str:
    """For a terminal."""
    # Names come from others: none may move a terminal's cursor.
    clean = ("".join(sign if sign.isprintable() else "\ufffd" for sign in line) for line in _lines(report))
    return "\n".join([*clean, ""])


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.source}: {report.sum}."
    if report.checked:
        yield "Checked:"
        yield from (f"  {sentence}" for sentence in report.checked)
    if report.unchecked:
        yield "Not checked:"
        yield from (f"  {what}: {why}" for what, why in report.unchecked.items())
    if report.differences:
        yield f"Different ({len(report.differences):,}):"
        yield from (f"  {difference}" for difference in report.differences[:NAMED])
        if len(report.differences) > NAMED:
            yield f"  and {len(report.differences) - NAMED:,} more; --format json lists all"


def as_json(report: Report) -> str:
    """Plain values at full precision."""
    facts = {
        "source": report.source,
        "program": __version__,
        "verdict": report.verdict,
        "values": report.values,
        "equal": report.equal,
        "files": report.files,
        "signatures": report.signatures,
        "checked": report.checked,
        "not_checked": [{"what": what, "why": why} for what, why in report.unchecked.items()],
        "different": [asdict(difference) for difference in report.differences],
        "snapshots": report.snapshots,
    }
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


FORMATS = {"text": as_text, "json": as_json}


def badge(report: Report, by: str, day: date) -> str:
    """A line for a page or a README, as Markdown and as HTML, with the address of what was verified."""
    address = next(iter(report.snapshots), report.source)
    start, end = f"Recomputed on {day.day} {day:%B %Y} by", report.sum
    name = " ".join(by.split())
    marked = _MARKS.sub(r"\\\1", name)
    return (
        f"[{start} {marked}, {end}](<{address}>)\n"
        f'<a href="{escape(address)}">{start} {escape(name)}, {end}</a>\n'
    )
