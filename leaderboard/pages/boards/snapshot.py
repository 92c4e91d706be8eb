"""A snapshot as its page shows it: what was frozen, and what the board says otherwise by now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.services import snapshots
from leaderboard.services.boards import board
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import PLACE_FACTS, place_facts
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import rests_on
from leaderboard.services.policy import ANONYMOUS, Viewer
from leaderboard.services.snapshots import Opened
from leaderboard.services.statistics.standings import Place

NAMES_AT_MOST = 5


@dataclass(frozen=True, slots=True)
class FrozenRow:
    """One run as it stood; place is None for runs that were not compared."""

    rank: int | None
    run_id: int
    run: str
    team: str
    kind: str
    scores: dict[str, float | None]
    is_scored: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """A frozen board."""

    address: str
    sha256: str
    size: int
    """Bytes of the text whose digest this is."""
    created_at: datetime
    task: str
    slug: str
    visibility: str
    edition: int
    revision: int
    revision_note: str
    revision_sha256: str
    origin: str
    origin_name: str
    dialect: int
    topics: int
    measures: tuple[MeasureColumn, ...]
    sorted_by: str
    ranked_by: str
    comparison: str
    """The test and correction, with its level, in words; empty where runs were not compared."""
    sentences: tuple[str, ...]
    evaluators: tuple[str, ...]
    decimals: int | None
    rows: tuple[FrozenRow, ...]
    since: tuple[str, ...] = ()
    """What the board says otherwise now, in sentences; empty where it is still the same."""

    @property
    def is_placed(self) -> bool:
        """Whether it says how the runs stand to each other."""
        return any(row.place is not None for row in self.rows)


def page(session: Session, viewer: Viewer, address: str, *, compared: bool = True) -> SnapshotPage:
    """The snapshot of an address, compared with the public's board of now unless that is not wanted.

    Raises NotFound as snapshots.opened does.
    """
    found = snapshots.opened(session, viewer, address)
    return _page(found, _since(session, found) if compared else ())


def table(page: SnapshotPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the frozen board at full precision, for CSV."""
    keys = [each.key for each in page.measures]
    return ["rank", "run", "team", "kind", *keys, *PLACE_FACTS], [
        [
            *(row.rank, row.run, row.team, row.kind, *(row.scores.get(key) for key in keys)),
            *place_facts(row.place).values(),
        ]
        for row in page.rows
    ]


def short_table(page: SnapshotPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows as they are printed: rank, run, team and scores."""
    keys = [each.key for each in page.measures]
    return ["Rank", "Run", "Team", *keys], [
        [row.rank, row.run, row.team, *(row.scores.get(key) for key in keys)] for row in page.rows
    ]


def caption(page: SnapshotPage) -> str:
    """What the printed table says of itself."""
    judged = rests_on(page.revision, page.topics, page.dialect)
    return (
        f"{page.task}: runs by {page.ranked_by}, {judged}. "
        f"Snapshot {page.address} of {page.created_at:%Y-%m-%d}."
    )


def _page(found: Opened, since: tuple[str, ...]) -> SnapshotPage:
    facts = found.facts
    return SnapshotPage(
        address=found.address,
        sha256=found.sha256,
        size=len(found.body),
        created_at=found.created_at,
        task=facts["name"],
        slug=facts["task"],
        visibility=facts["visibility"],
        edition=facts["edition"],
        revision=facts["revision"],
        revision_note=facts["revision_note"],
        revision_sha256=facts["revision_sha256"] or "",
        origin=facts["origin"],
        origin_name=facts["origin_name"],
        dialect=facts["dialect"],
        topics=facts["topics"],
        measures=tuple(_measure(each) for each in facts["measures"]),
        sorted_by=facts["sorted_by"],
        ranked_by=facts["ranked_by"],
        comparison=_method(facts["comparison"]),
        sentences=tuple(facts["sentences"]),
        evaluators=tuple(facts["evaluators"]),
        decimals=facts["decimals"],
        rows=tuple(_row(each) for each in facts["rows"]),
        since=since,
    )


def _measure(facts: dict[str, Any]) -> MeasureColumn:
    return MeasureColumn(
        key=facts["key"],
        title=facts["title"],
        direction=facts["direction"],
        digits=facts["digits"],
        version=facts["version"],
        aggregate=facts["aggregate"],
    )


def _row(facts: dict[str, Any]) -> FrozenRow:
    place = {name: facts[name] for name in PLACE_FACTS}
    return FrozenRow(
        rank=facts["rank"],
        run_id=facts["run_id"],
        run=facts["run"],
        team=facts["team"],
        kind=facts["kind"],
        scores=facts["scores"],
        is_scored=facts["scored"],
        place=None if place["beats"] is None else Place(**place),
    )


def _method(comparison: dict[str, Any] | None) -> str:
    return "" if comparison is None else f"{comparison['title']}, {comparison['alpha']:.0%}"


def _since(session: Session, found: Opened) -> tuple[str, ...]:
    """How the public's board of now differs from what was frozen."""
    shown = board.board(session, ANONYMOUS, found.facts["task"])
    if shown.basis is None:
        return ("The board of the task shows no scores now.",)
    if snapshots.body_of(session, shown) == found.body:
        return ()
    said = [*_editions(found.facts, shown), *_runs(found.facts, shown), *_scores(found.facts, shown)]
    return tuple(said) or (
        "Names, notes or the comparison of its runs differ; runs and scores are the same.",
    )


def _editions(facts: dict[str, Any], shown: Board) -> list[str]:
    assert shown.basis is not None, "only a board with an edition is compared"
    said = []
    if facts["edition"] != shown.basis.edition:
        said.append(
            f"It shows edition {shown.basis.edition} under qrels revision {shown.basis.revision} "
            f"(here: edition {facts['edition']}, revision {facts['revision']})."
        )
    if [each["key"] for each in facts["measures"]] != [each.key for each in shown.measures]:
        said.append(f"Its measures are {', '.join(each.key for each in shown.measures)}.")
    if facts["visibility"] == "blind" and facts["details"] != shown.sight.details:
        said.append("The task has closed: the board shows all topics at full precision.")
    return said


def _runs(facts: dict[str, Any], shown: Board) -> list[str]:
    before = {row["run_id"]: row["run"] for row in facts["rows"]}
    after = {row.run_id: row.run for row in shown.rows}
    added = [name for run_id, name in after.items() if run_id not in before]
    gone = [name for run_id, name in before.items() if run_id not in after]
    said = []
    if added:
        said.append(f"{_count(added)} {'was' if len(added) == 1 else 'were'} added: {_names(added)}.")
    if gone:
        said.append(f"{_count(gone)} {'was' if len(gone) == 1 else 'were'} withdrawn: {_names(gone)}.")
    return said


def _scores(facts: dict[str, Any], shown: Board) -> list[str]:
    key = facts["sorted_by"]
    before = {row["run_id"]: row["scores"].get(key) for row in facts["rows"]}
    changed = [
        row.run for row in shown.rows if row.run_id in before and before[row.run_id] != row.scores.get(key)
    ]
    if not changed:
        return []
    return [f"{_count(changed)} {'has' if len(changed) == 1 else 'have'} another {key}: {_names(changed)}."]


def _count(names: Sequence[str]) -> str:
    return "1 run" if len(names) == 1 else f"{len(names):,} runs"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_AT_MOST])
    return shown if len(names) <= NAMES_AT_MOST else f"{shown} and {len(names) - NAMES_AT_MOST:,} more"
