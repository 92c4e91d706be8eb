"""Conversion between text in settings fields and values."""

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard import zones
from leaderboard.core import audit, events, policy, prose
from leaderboard.core.audit import AuditRequest, AuditRow
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Judgment, Phase, Qrels, QrelsRevision, Task, TaskChange
from leaderboard.errors import Invalid, Problem
from leaderboard.scoring.ops.scored_topics import grade_names

TEXT_CHARACTERS = 100_000
LINE_CHARACTERS = 300
MOST_LINKS = 30
MOST_ORIGINS = 20
ORIGIN = re.compile(
    r"\*|https?://(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:\d{1,5})?"
)
"""A valid frame source of a content security policy that cannot end the policy."""
LINES = re.compile(r"\n|;\s")
"""Line separators of a list: also `; `, since a command has only one line."""

Read = Callable[[str], Any]
"""Parser of a text; raises ValueError with the broken rule."""


def line(longest: int = LINE_CHARACTERS, shortest: int = 0) -> Read:
    """A text of one line."""

    def read(text: str) -> str:
        tidy = " ".join(text.split())
        if not shortest <= len(tidy) <= longest:
            raise ValueError(f"must have {shortest} to {longest} characters.")
        return tidy

    return read


def text(given: str) -> str:
    """A text of many lines, in Markdown."""
    if rule := prose.broken_rule(given):
        raise ValueError(rule)
    return given


@dataclass(frozen=True, slots=True)
class IntegerValue:
    """Parser of an integer from low to high; empty: None, if allowed."""

    low: int
    high: int
    may_be_empty: bool = False

    def __call__(self, text: str) -> int | None:
        """The number in a text."""
        tidy = text.strip()
        if not tidy and self.may_be_empty:
            return None
        is_number = tidy.isascii() and tidy.isdigit() and len(tidy) < 19
        if not (is_number and self.low <= int(tidy) <= self.high):
            raise ValueError(f"must be a whole number from {self.low} to {self.high:,}.")
        return int(tidy)


def one_of(choices: Mapping[str, str]) -> Read:
    """One of the keys of the choices."""

    def read(text: str) -> str:
        if text.strip() not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}.")
        return text.strip()

    return read


def some_of(choices: Sequence[str]) -> Read:
    """A selection of the choices, separated as in `names`; in the order of the choices."""

    def read(text: str) -> list[str]:
        given = names(text)
        if not set(given) <= set(choices):
            raise ValueError(f"must be a selection of {', '.join(choices)}, or empty.")
        return [name for name in choices if name in given]

    return read


def pattern(text: str) -> str:
    """A regular expression of one line; empty: none."""
    docno_pattern = text.strip()
    try:
        re.compile(docno_pattern)
    except re.error as error:
        raise ValueError(f"must be a regular expression: {error}.") from None
    if len(docno_pattern) > LINE_CHARACTERS or not docno_pattern.isprintable():
        raise ValueError(f"must be one line of at most {LINE_CHARACTERS} characters.")
    return docno_pattern


def yes_or_no(text: str) -> bool:
    """yes or no.

    >>> yes_or_no("yes"), yes_or_no("no")
    (True, False)
    """
    if text.strip() not in ("yes", "no"):
        raise ValueError("must be yes or no.")
    return text.strip() == "yes"


def moment(text: str) -> datetime | None:
    """A date, or a date and time, in UTC; a date alone means its start. Empty: None."""
    try:
        return zones.read(text, "UTC", "names_at")
    except Invalid:
        raise ValueError("must be a date and time in UTC, such as 2026-05-31T23:59, or empty.") from None


def names(text: str) -> list[str]:
    """Words separated by spaces, newlines, commas or semicolons."""
    return [name for name in re.split(r"[\s;]+", text.strip()) if name]


def grades(text: str) -> dict[int, str]:
    """Grade -> name, from lines of both.

    >>> grades("0 not relevant; 1 relevant")
    {0: 'not relevant', 1: 'relevant'}
    """
    named: dict[int, str] = {}
    for line in _lines(text):
        number, _, name = line.partition(" ")
        if not re.fullmatch(r"-?\d", number) or not name.strip():
            raise ValueError("must be a grade and its name, one per line, such as `2 highly relevant`.")
        named[int(number)] = name.strip()
    return named


def links(text: str) -> list[dict[str, str]]:
    """Links, from lines of a title and an address.

    >>> links("Call for papers https://example.org/call")
    [{'title': 'Call for papers', 'address': 'https://example.org/call'}]
    """
    entries = []
    for line in _lines(text):
        title, _, address = line.rpartition(" ")
        is_short = len(line) <= 2 * LINE_CHARACTERS
        if not address.startswith(("https://", "http://")) or not is_short or not address.isprintable():
            raise ValueError("must be a title and a URL that starts with https://, one per line.")
        entries.append({"title": title.strip() or address, "address": address})
    if len(entries) > MOST_LINKS:
        raise ValueError(f"must have at most {MOST_LINKS} links.")
    return entries


def origins(text: str) -> str:
    r"""Origins of sites, one per line, in lower case; `*` alone means any site.

    >>> origins("https://Example.org/; https://*.example.org:8443")
    'https://example.org\nhttps://*.example.org:8443'
    """
    addresses = list(
        dict.fromkeys(origin.lower().removesuffix("/") for origin in re.split(r"[\s;]+", text) if origin)
    )
    if len(addresses) > MOST_ORIGINS or not all(map(ORIGIN.fullmatch, addresses)):
        raise ValueError(
            f"must be up to {MOST_ORIGINS} origins, one per line, such as https://example.org: scheme, host "
            "and port without a path; a host may begin with `*.`, and `*` alone allows any site."
        )
    return "\n".join(addresses)


DISTANCES = ("ktu", "nrmse", "dri", "er")
"""Numbers of a reproduction rated by thresholds that a task can set."""
SHARES = {"alpha": (0.0, 1.0), "margin": (0.0, math.inf)}
"""Further numbers that a task can set for its reproductions, with their ranges."""


def thresholds(text: str) -> dict[str, Any] | None:
    """Thresholds of reproductions, from lines of a name and one or two numbers; empty: None.

    >>> thresholds("ktu 0.1 0.6; margin 0.05")
    {'ktu': [0.1, 0.6], 'margin': 0.05}
    """
    limits: dict[str, Any] = {}
    for line in _lines(text):
        name, *numbers = line.lower().split()
        if name not in (*DISTANCES, *SHARES) or name in limits:
            raise ValueError(
                f"has {line[:40]!r}; a line must begin with one of {', '.join((*DISTANCES, *SHARES))}."
            )
        limits[name] = _distances(name, numbers) if name in DISTANCES else _share(name, numbers)
    return limits or None


def _distances(name: str, numbers: Sequence[str]) -> list[float]:
    values = [_number(number) for number in numbers]
    if len(values) != 2 or not 0 <= values[0] <= values[1] < math.inf:
        rule = (
            "needs two numbers from 0 on, the distance up to which it is the same and that up to which close"
        )
        raise ValueError(f"{name} {rule}, such as `{name} 0.05 0.5`.")
    return values


def _share(name: str, numbers: Sequence[str]) -> float:
    low, high = SHARES[name]
    value = _number(numbers[0]) if len(numbers) == 1 else math.nan
    if not low < value < high:
        rule = "above 0" if high == math.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} needs one number {rule}, such as `{name} 0.05`.")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def written(value: Any) -> str:
    """A value as text in a field, readable by `read`.

    >>> written(None), written(True), written([{"title": "A", "address": "https://a.org"}])
    ('', 'yes', 'A https://a.org')
    """
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, datetime):
        return zones.written(value, "UTC")
    if isinstance(value, dict):
        return "\n".join(f"{name} {written(part)}" for name, part in value.items())
    if isinstance(value, list):
        is_links = value and isinstance(value[0], dict)
        return (
            "\n".join(f"{link['title']} {link['address']}" for link in value)
            if is_links
            else " ".join(map(str, value))
        )
    return tidy(str(value))


def tidy(text: str) -> str:
    """The text with normalised newlines, because browsers send others."""
    return text.replace("\r\n", "\n")


def _lines(text: str) -> list[str]:
    return [tidy for line in LINES.split(text) if (tidy := " ".join(line.split()))]


def require_order(opens_at: datetime | None, closes_at: datetime | None) -> None:
    """Raise Invalid if something would close before it opens."""
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        raise Invalid("The task would close before it opens; enter a later closing time.", field="closes_at")


def require_reason(task: Task, phase: Phase, closes_at: datetime | None, reason: str) -> None:
    """Raise Invalid if a published deadline is moved without a reason."""
    is_known = task.published_at is not None and phase.closes_at is not None
    if is_known and phase.closes_at != closes_at and not reason.strip():
        raise Invalid("Enter a reason for moving the deadline; participants will read it.")


def described_dates(phase: Phase) -> str:
    """The submission period of a phase, as text."""
    return zones.span(phase.opens_at, phase.closes_at, "UTC")


CHANGE = "task.change"
LONGEST = 1000
"""Maximum stored length of a value; longer ones state their length."""
SAVE_AGAIN = "Your changes were not saved. Save again to replace the other version."
LOOKED_AT = 500
"""Number of recent changes searched by `who_changed`."""


def note_change(
    session: Session, viewer: Viewer, task: Task, what: str, before: str, after: str, reason: str = ""
) -> None:
    """Record a changed setting in the audit log, and for participants once the task is published.

    what: the setting as text, such as `closing of test`; before and after never contain a secret. An
    unchanged value is not recorded.
    """
    if before == after:
        return
    old, new = _short(before), _short(after)
    audit.record(session, viewer, CHANGE, _subject(task), what=what, before=old, after=new, reason=reason)
    if task.published_at is not None:
        session.add(
            TaskChange(
                task_id=task.id,
                account_id=viewer.account_id,
                what=what,
                before=old,
                after=new,
                reason=reason,
                created_at=now(session),
            )
        )


def note_dates(session: Session, viewer: Viewer, task: Task, phase: Phase, before: str, reason: str) -> None:
    """Record changed dates of a phase and notify webhooks; before: the dates as described before."""
    after = described_dates(phase)
    note_change(session, viewer, task, f"dates of {phase.name}", before, after, reason)
    if before != after:
        for listener in events.LISTENERS:
            listener.dates_changed(session, task, phase)


def of_task(session: Session, task_id: int) -> tuple[TaskChange, ...]:
    """Changes shown to participants, latest first."""
    query = select(TaskChange).where(TaskChange.task_id == task_id)
    return tuple(session.scalars(query.order_by(TaskChange.id.desc())))


def stamp(value: str) -> str:
    """A fingerprint of a value shown in a form: 12 hex digits."""
    return hashlib.sha256(value.encode()).hexdigest()[:12]


def who_changed(session: Session, viewer: Viewer, task: Task, whats: Collection[str], name: str) -> str:
    """Author and time of the last change, as a sentence; whats: possible texts in the record."""
    rows = audit.newest(session, AuditRequest(action=CHANGE, subject=_subject(task)), LOOKED_AT)
    last = next((row for row in rows if row.detail["what"] in whats), None)
    if last is None:
        return f"The {name} changed after you opened this form."
    who = _who(last, viewer)
    return f"{who} changed the {name} at {last.at:%Y-%m-%d %H:%M} UTC, after you opened this form."


def _who(row: AuditRow, viewer: Viewer) -> str:
    if row.account_id is None:
        return "The operator of this site"
    return "You" if row.account_id == viewer.account_id else row.account or "Somebody"


def _subject(task: Task) -> str:
    return f"task:{task.id}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


BINARY = {0: "not relevant", 1: "relevant"}
LOWEST, HIGHEST = -9, 9
NAME_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Grade:
    """A grade that an assessor can assign, with its key."""

    value: int
    name: str
    key: str
    """The digit key; empty for grades below 0, which only have a button."""
    is_relevant: bool


def grade_scale(task: Task) -> tuple[Grade, ...]:
    """The task's grades, lowest first: from 0 to the highest that has a name or counts as relevant."""
    named = grade_names(task)
    highest = max([*named, task.level, 1])
    usual = BINARY if highest == 1 else {0: BINARY[0]}
    names = dict.fromkeys(range(highest + 1), "") | usual | named
    return tuple(
        Grade(value, name, str(value) if value >= 0 else "", value >= task.level)
        for value, name in sorted(names.items())
    )


def grades_of_scale(task: Task) -> frozenset[int]:
    """The grades alone."""
    return frozenset(grade.value for grade in grade_scale(task))


def highest_judged(session: Session, task: Task) -> int | None:
    """The highest grade in the newest revisions of all graded judgment series of the task."""
    newest = (
        select(func.max(QrelsRevision.id))
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task.id)
        .group_by(QrelsRevision.qrels_id)
    )
    return session.scalar(select(func.max(Judgment.grade)).where(Judgment.revision_id.in_(newest)))


def reach(session: Session, viewer: Viewer, task: Task, highest: int) -> None:
    """Set the highest grade available to assessors; raises Invalid if out of range.

    Nothing changes if the scale already ends there. Otherwise unnamed grades are named by their number, so
    that all judging pages of the task have the same scale.
    """
    if not max(task.level, 1) <= highest <= HIGHEST:
        rule = f"must be from {max(task.level, 1)} to {HIGHEST}."
        raise Invalid(
            "The grades were not saved.", [Problem(rule, "", field="highest grade", value=str(highest))]
        )
    if highest == grade_scale(task)[-1].value:
        return
    named = {value: name for value, name in grade_names(task).items() if value <= highest}
    usual = {0: BINARY[0], 1: "grade 1" if highest > 1 else BINARY[1]}
    names = {value: f"grade {value}" for value in range(highest + 1)} | usual | named
    before = written(task.grade_names)
    task.grade_names = checked_grades(names)
    note_change(session, viewer, task, "names of grades", before, written(task.grade_names))


def rename_grades(session: Session, viewer: Viewer, slug: str, named: Mapping[int, str]) -> None:
    """Name a task's grades; raises Invalid if one is out of range, unnamed or too long."""
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    before = written(task.grade_names)
    task.grade_names = checked_grades(named)
    note_change(session, viewer, task, "names of grades", before, written(task.grade_names))


def checked_grades(named: Mapping[int, str]) -> dict[str, str]:
    """Grade names as stored by a task; raises Invalid if one is out of range, unnamed or too long."""
    problems = []
    for grade, name in named.items():
        if not LOWEST <= grade <= HIGHEST:
            rule = f"must be a whole number from {LOWEST} to {HIGHEST}."
            problems.append(Problem(rule, "", field="grade", value=str(grade)))
        if not 1 <= len(name.strip()) <= NAME_CHARACTERS:
            rule = f"must be 1 to {NAME_CHARACTERS} characters."
            problems.append(Problem(rule, "", field=f"name of grade {grade}", value=name[:60]))
    if named and 0 not in named:
        problems.append(Problem("is missing.", "Name grade 0 too: not relevant.", field="grade", value="0"))
    if problems:
        raise Invalid("The grade names were not saved.", problems)
    return {str(grade): name.strip() for grade, name in sorted(named.items())}
