"""A bundle without names: teams, runs and people by pseudonyms, and the map that leads back.

Rankings, judgments and topics are unchanged, and so are numbers. What teams say about themselves and their
runs is left out; names are removed from what organisers wrote.

It exists while all of the task is public. It does not record when it was made: the same
task gives the same bytes.
"""

import gzip
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops.names import skeleton
from leaderboard.bundles.ops.records import TABLES, Record, RecordTable
from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.core.policy import ANONYMOUS
from leaderboard.core.shown_names import ShownNames, numbered_runs, shown_names, shows_names
from leaderboard.db.tables import (
    Account,
    Assessor,
    Audit,
    Edition,
    Entry,
    Member,
    Phase,
    Reproduction,
    Run,
    Task,
    TaskRole,
    Team,
    TopicSet,
    Upload,
)
from leaderboard.runs.ops.prepare import suggested_name
from leaderboard.scoring.ops import scored_topics
from leaderboard.scoring.ops.qrels.files import COMPANIONS, MAIN
from leaderboard.scoring.ops.rankings import stored_in_order
from leaderboard.tasks.ops.pseudonyms import pseudonyms
from leaderboard.tasks.ops.pseudonyms.pseudonyms import words
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.runs.runs import rankings_of

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
"""Table -> column -> the replacement for what others wrote there."""  # fmt: skip
WRITTEN = {
    "task": ("name", "description", "licence", "agreement"),
    "lines": ("origin_name",),
    "revisions": ("note",),
    "groups": ("name",),
    "pools": ("method", "note", "guidelines", "examples"),
    "announcements": ("title", "body"),
    "changes": ("what", "before", "after", "reason"),
}
"""Table -> columns that organisers write, which may name a person."""


@dataclass(frozen=True, slots=True, eq=False)
class PseudonymMap:
    """Pseudonyms of teams and runs in a release: team or run id -> pseudonym.

    references: name of a run that judges are compared with -> its released name.
    """

    teams: dict[int, str]
    runs: dict[int, str]
    references: dict[str, str]
    named: dict[str, list[dict[str, str]]]
    hides: Callable[[str], str]
    """Removes every name from a text."""

    def text(self) -> str:
        """The map as JSON, to be kept apart from the release."""
        return json.dumps(self.named, indent=2, ensure_ascii=False) + "\n"


def draw(session: Session, task: Task) -> PseudonymMap:
    """Pseudonyms for a release: those that teams have in the task, others drawn at random."""
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
        named["references"] = [
            {"pseudonym": pseudonym, "name": name} for name, pseudonym in references.items()
        ]
    for name, pseudonym in references.items():
        hidden.setdefault(name, pseudonym)
    for name in _people(session, task, names) | declared:
        hidden.setdefault(name, NOBODY)
    return PseudonymMap(teams, runs, references, named, _hiding(hidden))


def hidden(table: RecordTable, record: Record, row_id: int, by: PseudonymMap) -> Record:
    """A row of a bundle without names; row_id: its own on the site."""
    emptied = {**record, **EMPTIED.get(table.name, {})}
    if table.name == "teams":
        return {**emptied, "name": by.teams[row_id]}
    if table.name == "runs":
        return {**emptied, "name": by.runs[row_id], "tag": by.runs[row_id].replace(" ", "-")}
    if table.name == "lines" and emptied["name"] not in (MAIN, *COMPANIONS):
        emptied["name"] = by.hides(emptied["name"])
    written = WRITTEN.get(table.name, ())
    return {
        key: _without_names(value, by.hides) if key in written else value for key, value in emptied.items()
    }


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
    """Team id -> pseudonym; by a seed that is not stored, because the order of ids would reveal them."""
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
    """Name of a run that judges are compared with -> a random number; and the teams that these declare."""
    if task.kind != "judges":
        return {}, frozenset()
    from leaderboard.judges.ops import store

    runs, teams = store.named(session, task.id)
    numbers = list(range(1, len(runs) + 1))
    secrets.SystemRandom().shuffle(numbers)
    return {run: f"Run-{number}" for run, number in zip(sorted(runs), numbers, strict=True)}, teams


def _people(session: Session, task: Task, teams: Iterable[int]) -> set[str]:
    """Names of everyone involved in the task: members of its teams, helpers, senders, assessors."""
    accounts = (
        select(Member.account_id).where(Member.team_id.in_(list(teams))),
        select(TaskRole.account_id).where(TaskRole.task_id == task.id),
        select(Upload.account_id).where(Upload.task_id == task.id),
        select(Audit.account_id).where(Audit.subject == f"task:{task.id}"),
    )
    people = set(session.scalars(select(Assessor.name).where(Assessor.task_id == task.id, _is_person())))
    for chosen in accounts:
        people |= set(session.scalars(select(Account.name).where(Account.id.in_(chosen))))
    details = select(Team.affiliation, Team.home_page).where(Team.id.in_(list(teams)))
    people |= {text for row in session.execute(details) for text in row}
    return {name for name in people if name.strip()}


def _is_person() -> Any:
    return Assessor.origin == "human"


def _hiding(names: dict[str, str]) -> Callable[[str], str]:
    """A function that replaces names in a text, the longest first; short ones only as whole words."""
    by_folded = {name.casefold(): given for name, given in names.items()}
    # Some letters become two when folded: a name is searched both as written and case-folded.
    ordered = sorted(by_folded.keys() | names.keys(), key=len, reverse=True)
    if not ordered:
        return str
    parts = (
        re.escape(name) if len(name) >= SHORTEST_WITHIN else rf"(?<!\w){re.escape(name)}(?!\w)"
        for name in ordered
    )
    pattern = re.compile("|".join(parts), re.IGNORECASE)
    return lambda text: pattern.sub(lambda match: by_folded.get(match[0].casefold(), NOBODY), text)


def _without_names(value: Any, hides: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hides(value)
    if isinstance(value, list):
        return [_without_names(each, hides) for each in value]
    if isinstance(value, dict):
        return {key: _without_names(each, hides) for key, each in value.items()}
    return value


DIALECT = 10
"""trec_eval's order of equal scores, in which the rankings of masked runs are written."""
PUBLIC_COLUMNS = {
    "task": (
        "slug name kind answer_rules description visibility published_at depth level dialect measures "
        "primary_measure comparison reproduction_thresholds grade_names organisers contact licence links "
        "final_runs unmarked archived_at created_at"
    ),
    "topics": "topic_id position title description narrative subtopics excluded answer_limit",
    "topic_sets": "name topics",
    "phases": "name position opens_at closes_at zone topic_set_id visibility at_close reveal_at kinds ranked",
    "teams": "name affiliation country home_page created_at",
    "entries": "team_id created_at",
    "lines": "name kind origin origin_name",
    "revisions": "qrels_id number parent_id sha256 file_name note topics judgments left_out_facts created_at",
    "uploads": "team_id file_name sha256 bytes state phase_id created_at",
    "runs": (
        "upload_id phase_id team_id name tag kind description details topics entries deepest ranking_sha256 "
        "order_differs final_at created_at"
    ),
    "reproductions": "run_id original_id original_baseline_id baseline_id created_at",
    "pictures": "kind alt width height sha256 created_at",
    "editions": (
        "number revision_id companions dialect measures primary_measure topic_sets state created_at "
        "shown_from shown_to"
    ),
}
"""Table -> the columns that public pages show, or that replace them."""
_NAMELESS_TEAM: Record = {"affiliation": "", "country": "", "home_page": ""}
_NAMELESS_FILE: Record = {"file_name": "run.txt.gz", "sha256": "", "bytes": 0}


@dataclass(frozen=True, slots=True)
class PublicView:
    """A task's teams and runs as visitors see them: replacements for what is hidden from them."""

    teams: Mapping[int, str]
    """Team id -> what visitors know it by."""
    runs: Mapping[int, str]
    """Id of a run whose team has a pseudonym -> its public name."""
    at: str
    """When the task was published, which replaces hidden dates."""
    masked_teams: frozenset[int]
    masked_uploads: frozenset[int]
    marked: frozenset[int]
    """Runs that are publicly marked as chosen by their teams."""

    def shown(self, table: RecordTable, record: Record, row_id: int) -> Record:
        """A row as visitors know it; row_id: its own on the site."""
        if table.name in ("task", "entries", "pictures", "reproductions"):
            return {**record, "created_at": self.at}
        if table.name == "teams":
            untold = _NAMELESS_TEAM if row_id in self.masked_teams else {}
            return {**record, **untold, "name": self.teams[row_id], "created_at": self.at}
        if table.name == "uploads":
            untold = _NAMELESS_FILE if row_id in self.masked_uploads else {}
            return {**record, **untold, "wishes": {}}
        if table.name == "runs":
            return self._shown_run(record, row_id)
        return record

    def _shown_run(self, record: Record, run_id: int) -> Record:
        shown = {**record, "final_at": record["created_at"] if run_id in self.marked else None}
        if run_id not in self.runs:
            return shown
        name = self.runs[run_id]
        return {**shown, "name": name, "tag": name, "description": "", "details": {}}


def view(session: Session, task: Task) -> PublicView:
    """Public names of the teams and runs of a published task."""
    assert task.published_at is not None, "a draft has no visitors"
    rows = session.execute(
        select(Run.id, Run.upload_id, Run.team_id, Run.phase_id, Run.final_at)
        .where(_public_runs(task.id))
        .order_by(Run.id)
    ).all()
    names = shown_names(session, ANONYMOUS, task)
    teams = _told_apart(names, (row.team_id for row in rows))
    masked = {team_id for team_id in teams if names.is_masked(team_id)}
    numbered = numbered_runs(session, task, {team_id: teams[team_id] for team_id in masked})
    phases = {row.phase_id for row in rows if row.final_at is not None}
    over = {each for each in phases if task.final_runs is None or scored_topics.is_over(session, each)}
    return PublicView(
        teams=teams,
        # A pseudonym may have blanks, a run's name has none.
        runs={run_id: suggested_name(name) for run_id, name in numbered.items()},
        at=task.published_at.astimezone(UTC).isoformat(),
        masked_teams=frozenset(masked),
        masked_uploads=frozenset(row.upload_id for row in rows if row.team_id in masked),
        marked=frozenset(row.id for row in rows if row.final_at is not None and row.phase_id in over),
    )


def _told_apart(names: ShownNames, team_ids: Iterable[int]) -> dict[int, str]:
    """Team id -> its name; teams without a pseudonym share one on pages, and are several all the same."""
    by_team: dict[int, str] = {}
    for team_id in dict.fromkeys(team_ids):
        name, number = names.team(team_id), 2
        while name in by_team.values():
            name, number = f"{names.team(team_id)} {number}", number + 1
        by_team[team_id] = name
    return by_team


def rankings_only(blocks: Iterable[Block], tag: str) -> Iterator[bytes]:
    """A run's rankings as a gzip file that says nothing else of the file that was sent: neither the order of
    its lines nor what its second and fourth columns hold.
    """
    topics: dict[str, bytes] = {}
    for block in blocks:
        for ranking in rankings_of(block):
            ordered = stored_in_order(ranking, DIALECT)
            lines = (
                f"{ranking.topic} Q0 {docno} {rank} {score!r} {tag}\n"
                for rank, (docno, score) in enumerate(
                    zip(ordered.docnos, ordered.scores.tolist(), strict=True), start=1
                )
            )
            # Packed at once: a file of many topics is sorted without being in memory as a whole.
            packed = "".join(lines).encode("utf-8", "surrogateescape")
            topics[ranking.topic] = gzip.compress(packed, mtime=0)
    for topic in sorted(topics):
        yield topics[topic]


def _public_runs(task_id: int) -> ColumnElement[bool]:
    return (Run.task_id == task_id) & Run.withdrawn_at.is_(None)


def _public_teams(task_id: int) -> Any:
    return select(Run.team_id).where(_public_runs(task_id))


def _first_run(team: Any, task_id: int) -> ColumnElement[int]:
    """Runs are in a public order; of teams that go by pseudonyms no one else learns more."""
    return select(func.min(Run.id)).where(Run.team_id == team, _public_runs(task_id)).scalar_subquery()


def _shown_sets(task_id: int) -> ColumnElement[bool]:
    of_phases = select(Phase.topic_set_id).where(Phase.task_id == task_id, Phase.topic_set_id.is_not(None))
    return (TopicSet.task_id == task_id) & ((TopicSet.name == ALL_TOPICS) | TopicSet.id.in_(of_phases))


def _public(table: RecordTable) -> RecordTable:
    kept = set(PUBLIC_COLUMNS[table.name].split())
    names = {column.name for column in table.columns}
    return replace(table, left_out=table.left_out | (names - kept), **_ROWS.get(table.name, {}))


_ROWS: dict[str, dict[str, Any]] = {
    "topic_sets": {"of_task": _shown_sets},
    "teams": {
        "of_task": lambda task: Team.id.in_(_public_teams(task)),
        "order": lambda task: _first_run(Team.id, task),
    },
    "entries": {
        "of_task": lambda task: (Entry.task_id == task) & Entry.team_id.in_(_public_teams(task)),
        "order": lambda task: _first_run(Entry.team_id, task),
    },
    "uploads": {"of_task": lambda task: Upload.id.in_(select(Run.upload_id).where(_public_runs(task)))},
    "runs": {"of_task": _public_runs},
    "reproductions": {
        "of_task": lambda task: (
            Reproduction.run_id.in_(select(Run.id).where(_public_runs(task)))
            & Reproduction.original_id.in_(select(Run.id).where(_public_runs(task)))
        )
    },
    "editions": {"of_task": lambda task: (Edition.task_id == task) & Edition.state.in_(("current", "past"))},
}
"""Table -> its public rows, if these are not all of the task."""
PUBLIC_TABLES = tuple(_public(table) for table in TABLES if table.name in PUBLIC_COLUMNS)
"""In the order in which they are stored."""
