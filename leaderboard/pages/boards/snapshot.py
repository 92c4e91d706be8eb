"""A snapshot as its page shows it: what was frozen, and how the board of now differs."""

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
from leaderboard.services.runs.names import RunName
from leaderboard.services.snapshots import OpenedSnapshot
from leaderboard.services.statistics.standings import Place as RankPlace
from leaderboard.tables.record import Column, Place, Table, columns_from

NAMES_AT_MOST = 5
BESIDE = (("beats", "Beats"), ("beaten_by", "Beaten by"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRow(RunName):
    """One run as it stood; place is None for runs that were not compared."""

    rank: int | None
    scores: dict[str, float | None]
    is_scored: bool
    place: RankPlace | None


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
    left_out: str
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
    phase: str = ""
    """The phase whose board it was; empty where the task had one phase only."""
    since: tuple[str, ...] = ()
    """How the board of now differs, in sentences; empty where it is still the same."""

    @property
    def is_placed(self) -> bool:
        """Whether it says how the runs stand to each other."""
        return any(row.place is not None for row in self.rows)


def page(session: Session, viewer: Viewer, address: str, *, compared: bool = True) -> SnapshotPage:
    """The snapshot of an address, compared with the public's board of now unless that is not wanted.

    Raises NotFound as snapshots.opened does.
    """
    frozen = snapshots.opened(session, viewer, address)
    return _page(frozen, _since(session, frozen) if compared else ())


def table(page: SnapshotPage) -> Table[FrozenRow]:
    """The frozen board; print has ranks, names and scores."""
    return Table(
        f"{page.slug}-{page.address}",
        _caption(page),
        columns_from(
            FrozenRow,
            "rank name run_id team kind",
            *(_beside(name, head) for name, head in BESIDE if page.is_placed),
            *(_measure_column(page, measure) for measure in page.measures),
            *(_place_column(name) for name in PLACE_FACTS),
        ),
        page.rows,
    )


def _measure_column(page: SnapshotPage, measure: MeasureColumn) -> Column[FrozenRow]:
    key = measure.key
    return Column(
        key,
        lambda row: row.scores.get(key),
        title=f"{measure.title}; definition version {measure.version}",
        digits=page.decimals or measure.digits,
        lower_is_better=measure.lower_is_better,
        group="sorted" if key == page.sorted_by else "measure",
    )


def _beside(name: str, head: str) -> Column[FrozenRow]:
    """A count of the runs that a run beats, or is beaten by, on the page."""
    verdict = "is better" if name == "beats" else "is worse"
    return Column(
        name,
        lambda row: place_facts(row.place)[name],
        head,
        title=f"Runs it can be told apart from and {verdict} than",
        digits=0,
        shown=Place.PAGE,
    )


def _place_column(name: str) -> Column[FrozenRow]:
    return Column(name, lambda row: place_facts(row.place)[name], shown=Place.DATA)


def _caption(page: SnapshotPage) -> str:
    judged = rests_on(page.revision, page.topics, page.dialect, page.left_out)
    return (
        f"{page.task}: runs by {page.ranked_by}, {judged}. "
        f"Snapshot {page.address} of {page.created_at:%Y-%m-%d}."
    )


def _page(frozen: OpenedSnapshot, since: tuple[str, ...]) -> SnapshotPage:
    facts = frozen.facts
    return SnapshotPage(
        address=frozen.address,
        sha256=frozen.sha256,
        size=len(frozen.body),
        created_at=frozen.created_at,
        task=facts["name"],
        slug=facts["task"],
        visibility=facts["visibility"],
        edition=facts["edition"],
        revision=facts["revision"],
        revision_note=facts["revision_note"],
        revision_sha256=facts["revision_sha256"] or "",
        left_out=facts.get("left_out", ""),
        origin=facts["origin"],
        origin_name=facts["origin_name"],
        dialect=facts["dialect"],
        topics=facts["topics"],
        measures=tuple(MeasureColumn(**measure) for measure in facts["measures"]),
        sorted_by=facts["sorted_by"],
        ranked_by=facts["ranked_by"],
        comparison=_method(facts["comparison"]),
        sentences=tuple(facts["sentences"]),
        evaluators=tuple(facts["evaluators"]),
        decimals=facts["decimals"],
        rows=tuple(_row(row) for row in facts["rows"]),
        phase=facts.get("phase", ""),
        since=since,
    )


def _row(facts: dict[str, Any]) -> FrozenRow:
    # What was frozen before 0.2.0 names all that beat a run.
    place = {name: facts[name] for name in PLACE_FACTS if name != "named"}
    place["named"] = facts.get("named", facts["beaten_by"])
    return FrozenRow(
        rank=facts["rank"],
        run_id=facts["run_id"],
        name=facts["run"],
        team=facts["team"],
        kind=facts["kind"],
        scores=facts["scores"],
        is_scored=facts["scored"],
        place=None if place["beats"] is None else RankPlace(**place),
    )


def _method(comparison: dict[str, Any] | None) -> str:
    return "" if comparison is None else f"{comparison['title']}, {comparison['alpha']:.0%}"


def _since(session: Session, frozen: OpenedSnapshot) -> tuple[str, ...]:
    """How the public's board of now differs from what was frozen."""
    shown = board.board(session, ANONYMOUS, frozen.facts["task"])
    if shown.basis is None:
        return ("The board of the task shows no scores now.",)
    if snapshots.body_of(session, shown) == frozen.body:
        return ()
    sentences = (*_editions(frozen.facts, shown), *_runs(frozen.facts, shown), *_scores(frozen.facts, shown))
    return sentences or ("Names, notes or the comparison of its runs differ; runs and scores are the same.",)


def _editions(facts: dict[str, Any], shown: Board) -> list[str]:
    assert shown.basis is not None, "only a board with an edition is compared"
    sentences = []
    if facts["edition"] != shown.basis.edition:
        sentences.append(
            f"It shows edition {shown.basis.edition} under qrels revision {shown.basis.revision} "
            f"(here: edition {facts['edition']}, revision {facts['revision']})."
        )
    if [measure["key"] for measure in facts["measures"]] != [measure.key for measure in shown.measures]:
        sentences.append(f"Its measures are {', '.join(measure.key for measure in shown.measures)}.")
    if facts["visibility"] == "blind" and facts["details"] != shown.sight.details:
        sentences.append("The task has closed: the board shows all topics at full precision.")
    return sentences


def _runs(facts: dict[str, Any], shown: Board) -> list[str]:
    before = {row["run_id"]: row["run"] for row in facts["rows"]}
    after = {row.run_id: row.run for row in shown.rows}
    added = [name for run_id, name in after.items() if run_id not in before]
    gone = [name for run_id, name in before.items() if run_id not in after]
    sentences = []
    if added:
        sentences.append(f"{_count(added)} {'was' if len(added) == 1 else 'were'} added: {_names(added)}.")
    if gone:
        sentences.append(f"{_count(gone)} {'was' if len(gone) == 1 else 'were'} withdrawn: {_names(gone)}.")
    return sentences


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
