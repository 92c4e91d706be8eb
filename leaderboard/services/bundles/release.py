"""A bundle without names: teams, runs and people by pseudonyms, and the map that leads back.

Rankings, judgments and topics stay as they are; so numbers do. What teams say of themselves and of their runs
is left out, what organisers wrote has names put out of it.
"""

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Assessor, Audit, Entry, Member, Run, Task, TaskRole, Team, Upload
from leaderboard.services.accounts.names import skeleton
from leaderboard.services.bundles.records import Record, RecordTable
from leaderboard.services.judges import exported
from leaderboard.services.pseudonyms import pseudonyms
from leaderboard.services.pseudonyms.words import words
from leaderboard.services.qrels.judged_inputs import COMPANIONS, MAIN
from leaderboard.services.shown_names import numbered_runs, shows_names

TABLES_LEFT_OUT = frozenset({"pictures", "snapshots"})
"""Tables that no filter knows the names in."""
NOBODY = "[a name]"
SHORTEST_WITHIN = 4
"""Letters from which on a name is put out inside of words too: shorter ones are parts of too many."""
EMPTIED: dict[str, Record] = {
    "task": {
        "organisers": "",
        "contact": "",
        "links": [],
        "tag_pattern": "",
        "naming": "names",
        "names_at": None,
        "pseudonym_list": "",
    },
    "teams": {"affiliation": "", "country": "", "home_page": ""},
    "entries": {"pseudonym": None, "reveal_at": None, "why": ""},
    "uploads": {"report": None, "wishes": {}, "fixes": [], "sha256": "", "bytes": 0, "file_name": ""},
    "runs": {"description": "", "details": {}, "withdrawn_why": ""},
    "assessments": {"note": ""},
    "answers": {"note": ""},
    "revisions": {"file_name": "", "rounds": "", "read_as": []},
}
"""Table -> column -> what takes the place of what others wrote there."""  # fmt: skip
WRITTEN = {
    "task": ("name", "description", "licence", "agreement"),
    "lines": ("origin_name",),
    "revisions": ("note",),
    "groups": ("name",),
    "pools": ("method", "note", "guidelines", "examples"),
    "announcements": ("title", "body"),
    "changes": ("what", "before", "after", "reason"),
}
"""Table -> columns that organisers write, which may name somebody."""


@dataclass(frozen=True, slots=True, eq=False)
class PseudonymMap:
    """What a release calls teams and runs, and what they are called: team or run id -> pseudonym.

    references: name of a run that judges are held against -> what it goes by.
    """

    teams: dict[int, str]
    runs: dict[int, str]
    references: dict[str, str]
    named: dict[str, list[dict[str, str]]]
    hides: Callable[[str], str]
    """Puts every name out of a text."""

    def text(self) -> str:
        """The map as JSON, to be kept apart from the release."""
        return json.dumps(self.named, indent=2, ensure_ascii=False) + "\n"


def draw(session: Session, task: Task) -> PseudonymMap:
    """Pseudonyms for a release: those that teams have in the task, others drawn by chance."""
    rows = session.execute(
        select(Team.id, Team.name, Entry.pseudonym, Entry.reveal_at)
        .outerjoin(Entry, (Entry.team_id == Team.id) & (Entry.task_id == task.id))
        .where(Team.id.in_(select(Run.team_id).where(Run.task_id == task.id)) | Entry.id.is_not(None))
        .order_by(Team.id)
    ).all()
    names = {row.id: row.name for row in rows}
    # A pseudonym whose name was shown since tells whose runs these are.
    is_kept = not shows_names(session, task)
    given = {row.id: row.pseudonym for row in rows if row.pseudonym and is_kept and row.reveal_at is None}
    teams = _drawn(session, names, given)
    runs = numbered_runs(session, task, teams)
    tags = session.execute(select(Run.id, Run.name, Run.tag).where(Run.id.in_(runs)).order_by(Run.id)).all()
    named = {
        "teams": [{"pseudonym": teams[each], "name": name} for each, name in names.items()],
        "runs": [{"pseudonym": runs[row.id], "name": row.name, "tag": row.tag} for row in tags],
    }
    hidden = {name: teams[each] for each, name in names.items()}
    hidden |= {word: runs[row.id] for row in tags for word in (row.name, row.tag) if word}
    references, declared = _references(session, task)
    if references:
        named["references"] = [{"pseudonym": one, "name": name} for name, one in references.items()]
    for name, one in references.items():
        hidden.setdefault(name, one)
    for name in _people(session, task, names) | declared:
        hidden.setdefault(name, NOBODY)
    return PseudonymMap(teams, runs, references, named, _hiding(hidden))


def hidden(table: RecordTable, record: Record, row_id: int, by: PseudonymMap) -> Record:
    """A row of a bundle without names; row_id: its own on the site."""
    made = {**record, **EMPTIED.get(table.name, {})}
    if table.name == "teams":
        return {**made, "name": by.teams[row_id]}
    if table.name == "runs":
        return {**made, "name": by.runs[row_id], "tag": by.runs[row_id].replace(" ", "-")}
    if table.name == "lines" and made["name"] not in (MAIN, *COMPANIONS):
        made["name"] = by.hides(made["name"])
    written = WRITTEN.get(table.name, ())
    return {key: _without_names(value, by.hides) if key in written else value for key, value in made.items()}


def renamed_lines(blocks: Iterable[bytes], tag: str) -> Iterator[bytes]:
    """A run file with another tag on each line, and without comments: they say whose it is.

    >>> b"".join(renamed_lines([b"# team: Owls\\n1 Q0 d1 1 9.5 ow", b"ls\\n"], "Otter-1"))
    b'1 Q0 d1 1 9.5 Otter-1\\n'
    """
    rest, last, is_first = b"", tag.encode(), True
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        if lines and is_first:
            lines[0], is_first = lines[0].removeprefix(b"\xef\xbb\xbf"), False
        yield b"".join(map(_renamed, lines, [last] * len(lines)))
    yield _renamed(rest.removeprefix(b"\xef\xbb\xbf") if is_first else rest, last)


def _renamed(line: bytes, tag: bytes) -> bytes:
    fields = line.split()
    if not fields or line.startswith(b"#"):
        return b""
    return b" ".join((*fields[:5], tag)) + b"\n"


def _drawn(session: Session, names: dict[int, str], given: dict[int, str]) -> dict[int, str]:
    """Team id -> pseudonym; by a seed that nobody keeps, as the order of ids would tell."""
    taken = {skeleton(name) for name in given.values()}
    taken |= set(session.scalars(select(Team.skeleton).where(Team.skeleton.is_not(None))))
    drawn = pseudonyms.order(words("animals"), secrets.token_hex(pseudonyms.SEED_BYTES))
    rounds = range(1, len(names) // len(drawn) + 3)
    free = (
        name
        for number in rounds
        for word in drawn
        if skeleton(name := word if number == 1 else f"{word}-{number}") not in taken
    )
    return {team: given.get(team) or next(free) for team in names}


def _references(session: Session, task: Task) -> tuple[dict[str, str], frozenset[str]]:
    """Name of a run that judges are held against -> a number by chance; and the teams that these declare."""
    if task.kind != "judges":
        return {}, frozenset()
    runs, teams = exported.named(session, task.id)
    numbers = list(range(1, len(runs) + 1))
    secrets.SystemRandom().shuffle(numbers)
    return {run: f"Run-{number}" for run, number in zip(sorted(runs), numbers, strict=True)}, teams


def _people(session: Session, task: Task, teams: Iterable[int]) -> set[str]:
    """Names of all who have to do with the task: members of its teams, helpers, senders, assessors."""
    accounts = (
        select(Member.account_id).where(Member.team_id.in_(list(teams))),
        select(TaskRole.account_id).where(TaskRole.task_id == task.id),
        select(Upload.account_id).where(Upload.task_id == task.id),
        select(Audit.account_id).where(Audit.subject == f"task:{task.id}"),
    )
    found = set(session.scalars(select(Assessor.name).where(Assessor.task_id == task.id, _is_person())))
    for chosen in accounts:
        found |= set(session.scalars(select(Account.name).where(Account.id.in_(chosen))))
    details = select(Team.affiliation, Team.home_page).where(Team.id.in_(list(teams)))
    found |= {text for row in session.execute(details) for text in row}
    return {name for name in found if name.strip()}


def _is_person() -> Any:
    return Assessor.origin == "human"


def _hiding(names: dict[str, str]) -> Callable[[str], str]:
    """What puts names out of a text, the longest first; short ones only where they stand alone."""
    by_folded = {name.casefold(): given for name, given in names.items()}
    # Some letters become two when folded: a name is looked for as it is written and as it is folded.
    ordered = sorted(by_folded.keys() | names.keys(), key=len, reverse=True)
    if not ordered:
        return str
    parts = (
        re.escape(name) if len(name) >= SHORTEST_WITHIN else rf"(?<!\w){re.escape(name)}(?!\w)"
        for name in ordered
    )
    pattern = re.compile("|".join(parts), re.IGNORECASE)
    return lambda text: pattern.sub(lambda found: by_folded.get(found[0].casefold(), NOBODY), text)


def _without_names(value: Any, hides: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hides(value)
    if isinstance(value, list):
        return [_without_names(each, hides) for each in value]
    if isinstance(value, dict):
        return {key: _without_names(each, hides) for key, each in value.items()}
    return value
