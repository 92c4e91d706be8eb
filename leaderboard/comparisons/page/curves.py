"""Curves of a few runs on common axes, for a page: precision by recall and rank, gain by rank, ROC."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.page.nuggets.facts import require_rankings
from leaderboard.boards.ops import rows as board_rows
from leaderboard.boards.ops.rows import Row
from leaderboard.boards.page.scores.table import require_details
from leaderboard.core import policy
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Edition, Task, Topic
from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.measures.drawn_curves import DEPTH, DEPTHS, KINDS, Drawn, Kind, draw
from leaderboard.measures.grammar import parse, with_level
from leaderboard.measures.judged import Judged
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, Source, shown_edition
from leaderboard.scoring.ops.rankings import alignments
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, MeasureColumn, TaskHead, column
from leaderboard.tables.record import Column, Files, Table, columns_from

MOST_RUNS = 8
"""Maximum number of curves that remain distinguishable."""
TELLING_RANKS = (1, 2, 3, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
TELLING = 11
"""Number of points of a curve in a short table, from one end to the other."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The requested curves; run ids (empty: default runs); depth: maximum rank of curves by rank."""

    runs: tuple[int, ...] = ()
    kind: str = "rp"
    topic: str | None = None
    depth: int = DEPTH
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRun(RunName):
    """A run with its curve (one value per point) and its value by each of the page's measures."""

    values: tuple[float, ...]
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvesPage(TaskHead):
    """Curves of runs over the same topics; without runs if there is nothing to draw."""

    kind: Kind
    across: str
    """Values of the horizontal axis."""
    points: tuple[float, ...]
    runs: tuple[DrawnRun, ...]
    ideal: tuple[float, ...] | None
    """Mean curve of the ideal rankings, for kinds that have one."""
    measures: tuple[MeasureColumn, ...]
    chosen: tuple[int, ...]
    """Ids of the drawn runs."""
    choices: tuple[Row, ...]
    """Scored runs in board order."""
    left_out: tuple[str, ...]
    """Requested runs beyond the maximum."""
    topics: tuple[tuple[str, str], ...]
    """(id, title) of the available topics."""
    topic: str | None
    averaged: int
    """Number of topics averaged."""
    depth: int
    why_empty: str
    """Why there is nothing to show; otherwise empty."""

    @property
    def point_digits(self) -> int:
        """Number of decimals that distinguishes the points of a short table."""
        if self.across == "rank" or not self.points:
            return 0
        return max(1, 1 - math.floor(math.log10(self.points[-1])))


def curves_page(session: Session, viewer: Viewer, slug: str, choice: Choice) -> CurvesPage:
    """The curves of the requested runs, at most the first 8.

    Raises NotFound for an unknown task, run or topic and while topic scores are hidden, Invalid
    for a kind or depth that does not exist.
    """
    task, access = policy.visible_task(session, viewer, slug)
    require_rankings(task)
    require_details(access)
    kind = _kind(choice)
    shown = shown_edition(session, task, access)
    choices = _choices(session, viewer, task, access, shown.edition)
    asked = _asked(task, choices, choice.runs)
    rows = asked[:MOST_RUNS]
    drawn, judged = _drawn(session, task, shown.source, rows, kind, choice)
    has_curves = drawn is not None and len(drawn.places) > 0
    measures = _measures(drawn, task.level) if has_curves else ()
    return CurvesPage(
        of=task,
        access=access,
        basis=shown.basis,
        kind=kind,
        across=drawn.across if drawn else kind.across,
        points=tuple(drawn.points.tolist()) if drawn and has_curves else (),
        runs=_runs(rows, judged, drawn, measures) if drawn and has_curves else (),
        ideal=tuple(drawn.ideal.tolist()) if drawn and has_curves and drawn.ideal is not None else None,
        measures=measures,
        chosen=tuple(row.run_id for row in rows),
        choices=choices,
        left_out=tuple(row.run for row in asked[MOST_RUNS:]),
        topics=_topics(session, task, shown.source),
        topic=choice.topic,
        averaged=len(drawn.places) if drawn else 0,
        depth=choice.depth,
        why_empty="" if has_curves else _nothing(task, shown, kind, choice, rows),
    )


def facts(page: CurvesPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    basis = page.basis
    return {
        "task": page.slug,
        "revision": basis.revision if basis else None,
        "dialect": basis.dialect if basis else None,
        "kind": page.kind.key,
        "topic": page.topic,
        "topics": page.averaged,
        "level": page.level,
        "across": page.across,
        "upwards": page.kind.upwards,
        "points": list(page.points),
        "runs": [
            {
                "run": run.name,
                "run_id": run.run_id,
                "team": run.team,
                "values": list(run.values),
                "measures": {
                    column.key: number for column, number in zip(page.measures, run.numbers, strict=True)
                },
            }
            for run in page.runs
        ],
        "ideal": None if page.ideal is None else list(page.ideal),
        "left_out": list(page.left_out),
        "said": page.why_empty,
    }


def points(page: CurvesPage, *, is_short: bool = False) -> Table[int]:
    """Table of all or selected points with the values of the curves."""
    return Table(
        f"{page.slug}-{page.kind.key}",
        _caption(page),
        [
            Column(
                page.across,
                lambda place: int(page.points[place]) if page.across == "rank" else page.points[place],
                page.across.capitalize(),
                words=lambda place: f"{page.points[place]:.{page.point_digits}f}",
                digits=page.point_digits,
            ),
            *(_curve(run.name, run.values) for run in page.runs),
            *([_curve("ideal", page.ideal, "Ideal")] if page.ideal is not None else []),
        ],
        telling(page) if is_short else range(len(page.points)),
    )


def runs(page: CurvesPage) -> Table[DrawnRun]:
    """Table of the drawn runs with their values."""
    return Table(
        f"{page.slug}-{page.kind.key}-runs",
        f"Runs: {_caption(page)}",
        columns_from(
            DrawnRun,
            "name run_id team kind",
            *(_number(measure, at) for at, measure in enumerate(page.measures)),
        ),
        page.runs,
    )


FILES = Files(facts=facts, tables={"points": points, "runs": runs})


def telling(page: CurvesPage) -> list[int]:
    """Indices of the points in a short table."""
    if page.across == "rank":
        return [rank - 1 for rank in TELLING_RANKS if rank <= len(page.points)]
    every = max(1, -(-len(page.points) // TELLING))
    return list(range(0, len(page.points), every))


def _curve(key: str, values: tuple[float, ...], head: str = "") -> Column[int]:
    return Column(key, lambda place: values[place], head, digits=4)


def _number(measure: MeasureColumn, at: int) -> Column[DrawnRun]:
    return Column(
        measure.key,
        lambda run: run.numbers[at],
        title=f"{measure.title}; {measure.direction} is better",
        digits=measure.digits,
        lower_is_better=measure.lower_is_better,
        group="measure",
    )


def _caption(page: CurvesPage) -> str:
    """Caption with kind, topics and judgments of the curves."""
    what = f"{page.kind.title}: {page.kind.upwards} by {page.across}"
    over = f"topic {page.topic}" if page.topic else f"mean over {page.averaged} topics"
    if page.topic is None and page.averaged == 1:
        over = "1 topic"
    revision = f", {page.basis.qrels}" if page.basis else ""
    relevant = "" if page.kind.key == "gain" else f", relevant is grade {page.level} and above"
    return f"{what}; {over}{revision}{relevant}; higher is better."


def _kind(choice: Choice) -> Kind:
    if choice.kind not in KINDS:
        problem = Problem(
            f"must be one of {', '.join(KINDS)}.", "Choose one.", field="kind", value=choice.kind[:20]
        )
        raise Invalid("Unknown kind of curve.", [problem])
    if choice.depth not in DEPTHS:
        choices = ", ".join(map(str, DEPTHS))
        problem = Problem(
            f"must be one of {choices}.", "Choose one of these.", field="depth", value=str(choice.depth)
        )
        raise Invalid("This maximum rank is not available.", [problem])
    return KINDS[choice.kind]


def _choices(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, edition: Edition | None
) -> tuple[Row, ...]:
    """Scored runs in board order."""
    if edition is None:
        return ()
    primary = column(parse(edition.primary_measure))
    rows = board_rows.read_rows(session, viewer, task, access, edition, (primary,))
    return tuple(row for row in board_rows.rank(rows, primary) if row.scores.get(primary.key) is not None)


def _asked(task: Task, choices: Sequence[Row], run_ids: Sequence[int]) -> list[Row]:
    """The requested runs without duplicates; by default leader, median run and best baseline."""
    if run_ids:
        by_id = {row.run_id: row for row in choices}
        lost = [run_id for run_id in run_ids if run_id not in by_id]
        if lost:
            raise NotFound(f"{task.name} has no scored run {', '.join(map(str, lost))}.")
        return [by_id[run_id] for run_id in dict.fromkeys(run_ids)]
    ranked = [row for row in choices if row.kind == RANKED_KIND]
    baselines = [row for row in choices if row.kind == "baseline"]
    usual = [*ranked[:1], *ranked[len(ranked) // 2 :][:1], *baselines[:1]]
    return list({row.run_id: row for row in usual or choices[:1]}.values())


def _drawn(
    session: Session, task: Task, source: Source | None, rows: Sequence[Row], kind: Kind, choice: Choice
) -> tuple[Drawn | None, list[Judged]]:
    """The curves with their axis; empty without judgments or runs."""
    if source is None:
        return None, []
    if choice.topic is not None and choice.topic not in source.topics:
        raise NotFound(f"{task.name} has no judged topic {choice.topic!r}.", topic=choice.topic)
    if not rows:
        return None, []
    by_run = alignments(session, source, [row.run_id for row in rows])
    judged = [by_run[row.run_id] for row in rows]
    places = np.array(source.places, dtype=np.int64)
    if choice.topic is not None:
        places = places[[source.topics.index(choice.topic)]]
    return draw(kind, judged, places, task.level, depth=choice.depth, whole=choice.whole), judged


def _measures(drawn: Drawn | None, level: int) -> tuple[MeasureColumn, ...]:
    keys = drawn.measures if drawn else ()
    return tuple(column(with_level(parse(key), level)) for key in keys)


def _runs(
    rows: Sequence[Row], judged: Sequence[Judged], drawn: Drawn, measures: Sequence[MeasureColumn]
) -> tuple[DrawnRun, ...]:
    bound = [parse(column.key) for column in measures]
    return tuple(
        DrawnRun(
            run_id=row.run_id,
            name=row.run,
            team=row.team,
            kind=row.kind,
            values=tuple(values.tolist()),
            numbers=tuple(measure.aggregate(measure.compute(run)[drawn.places]) for measure in bound),
        )
        for row, run, values in zip(rows, judged, drawn.values, strict=True)
    )


def _topics(session: Session, task: Task, source: Source | None) -> tuple[tuple[str, str], ...]:
    """The judged topics in the task's order."""
    if source is None:
        return ()
    judged = set(source.topics)
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    return tuple((row.topic_id, row.title) for row in rows if row.topic_id in judged)


def _nothing(task: Task, shown: ShownEdition, kind: Kind, choice: Choice, rows: Sequence[Row]) -> str:
    if shown.basis is None:
        return f"{task.name} has no judgments yet, so there are no curves."
    if not rows:
        return "No run is scored yet."
    if kind.key != "roc":
        return "No topic is scored yet."
    if choice.topic is not None:
        return f"Topic {choice.topic} has no ROC curve: it needs both relevant and other documents."
    return "No topic has a ROC curve: it needs both relevant and other documents."
