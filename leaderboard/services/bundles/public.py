"""The part of a task that every visitor reads, as a bundle: which rows and columns, by which names.

There is one as long as all of the task is shown to everybody. It says nothing of when it was made: the same
task gives the same bytes.
"""

import gzip
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Entry, Phase, Reproduction, Run, Task, Team, TopicSet, Upload
from leaderboard.services.bundles.records import TABLES, Record, RecordTable
from leaderboard.services.evaluations import choices
from leaderboard.services.phase_rules import ALL_TOPICS
from leaderboard.services.policy import ANONYMOUS
from leaderboard.services.rankings.stored import in_order
from leaderboard.services.runs.prepare import suggested_name
from leaderboard.services.shown_names import ShownNames, numbered_runs, shown_names
from leaderboard.trec.read.blocks import Block
from leaderboard.trec.runs.runs import rankings_of

DIALECT = 10
"""trec_eval's order of equal scores, in which the rankings of masked runs are written."""
COLUMNS = {
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
"""Table -> the columns that pages for everybody tell, or that are put in their place."""
_NAMELESS_TEAM: Record = {"affiliation": "", "country": "", "home_page": ""}
_NAMELESS_FILE: Record = {"file_name": "run.txt.gz", "sha256": "", "bytes": 0}


@dataclass(frozen=True, slots=True)
class PublicView:
    """How visitors know a task's teams and runs: what takes the place of what they are not told."""

    teams: Mapping[int, str]
    """Team id -> what visitors know it by."""
    runs: Mapping[int, str]
    """Id of a run whose team goes by a pseudonym -> what it is called."""
    at: str
    """When the task was published, which stands for moments that are not told."""
    masked_teams: frozenset[int]
    masked_uploads: frozenset[int]
    marked: frozenset[int]
    """Runs of which everybody reads that their teams chose them."""

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
        made = {**record, "final_at": record["created_at"] if run_id in self.marked else None}
        if run_id not in self.runs:
            return made
        name = self.runs[run_id]
        return {**made, "name": name, "tag": name, "description": "", "details": {}}


def view(session: Session, task: Task) -> PublicView:
    """How visitors know the teams and runs of a task that is published."""
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
    over = {each for each in phases if task.final_runs is None or choices.is_over(session, each)}
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
    made: dict[int, str] = {}
    for team_id in dict.fromkeys(team_ids):
        name, number = names.team(team_id), 2
        while name in made.values():
            name, number = f"{names.team(team_id)} {number}", number + 1
        made[team_id] = name
    return made


def rankings_only(blocks: Iterable[Block], tag: str) -> Iterator[bytes]:
    """A run's rankings as a gzip file that says nothing else of the file that was sent: neither the order of
    its lines nor what its second and fourth columns hold.
    """
    topics: dict[str, bytes] = {}
    for block in blocks:
        for ranking in rankings_of(block):
            ordered = in_order(ranking, DIALECT)
            lines = (
                f"{ranking.topic} Q0 {docno} {rank} {score!r} {tag}\n"
                for rank, (docno, score) in enumerate(
                    zip(ordered.docnos, ordered.scores.tolist(), strict=True), start=1
                )
            )
            # Packed at once: a file of many topics is sorted without being held whole.
            packed = "".join(lines).encode("utf-8", "surrogateescape")
            topics[ranking.topic] = gzip.compress(packed, mtime=0)
    for topic in sorted(topics):
        yield topics[topic]


def _public_runs(task_id: int) -> ColumnElement[bool]:
    return (Run.task_id == task_id) & Run.withdrawn_at.is_(None)


def _public_teams(task_id: int) -> Any:
    return select(Run.team_id).where(_public_runs(task_id))


def _first_run(team: Any, task_id: int) -> ColumnElement[int]:
    """Runs come in an order that everybody reads; of teams that go by pseudonyms nobody else is told."""
    return select(func.min(Run.id)).where(Run.team_id == team, _public_runs(task_id)).scalar_subquery()


def _shown_sets(task_id: int) -> ColumnElement[bool]:
    of_phases = select(Phase.topic_set_id).where(Phase.task_id == task_id, Phase.topic_set_id.is_not(None))
    return (TopicSet.task_id == task_id) & ((TopicSet.name == ALL_TOPICS) | TopicSet.id.in_(of_phases))


def _public(table: RecordTable) -> RecordTable:
    kept = set(COLUMNS[table.name].split())
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
"""Table -> its rows that everybody reads, where these are not all of the task."""
PUBLIC_TABLES = tuple(_public(table) for table in TABLES if table.name in COLUMNS)
"""In the order in which they are stored."""
