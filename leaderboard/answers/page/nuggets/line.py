"""The board by a separate judgment series for answers, and its agreement with the task's board."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from sqlalchemy.orm import Session

from leaderboard.answers.ops.nuggets import line_scores
from leaderboard.answers.ops.nuggets.line_agreement import LineAgreement, line_agreement
from leaderboard.answers.ops.nuggets.line_scores import KIND, LineRevision, RunByLine
from leaderboard.boards.ops.rows import AnswersBasis, Row, rank, read_rows
from leaderboard.boards.page.scores import table
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Task
from leaderboard.errors import NotFound
from leaderboard.scoring.ops.agreements import COEFFICIENTS, AgreedTopic
from leaderboard.scoring.ops.evaluations import shown as evaluations_shown
from leaderboard.scoring.ops.evaluations.shown import PartialMean, ShownEdition, scores_of, shown_edition
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead, column_of
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from, signed


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRow(RunName):
    """A run under a series and on the board; unknown values are None.

    partial: measure -> partial mean under the series, if not judged on all topics. move: ranks gained by the
    series among runs ranked on both; low, high: rank range under the series, among these; board_low,
    board_high: on the board.
    """

    rank: int | None
    scores: Mapping[str, float | None]
    partial: Mapping[str, PartialMean]
    board_rank: Annotated[int | None, Shown("Board rank")]
    board_score: float | None
    move: int | None = None
    low: int | None = None
    high: int | None = None
    board_low: int | None = None
    board_high: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePage(TaskHead):
    """A judgment series: its runs, best first, and its agreement with the board.

    by_line, board: origin of both judgments; board is None if the task has no others. agreement: on runs
    ranked on both boards, None with fewer than three; topics: those of the board's measure.
    """

    line: LineRevision
    lines: tuple[tuple[int, str], ...]
    """Number and name of all separate judgment series."""
    by_line: AnswersBasis
    board: AnswersBasis | None
    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    rows: tuple[LineRow, ...]
    agreement: LineAgreement | None
    topics: tuple[AgreedTopic, ...]

    @property
    def name(self) -> str:
        """The name of the page's tables."""
        return f"{self.slug}-line-{self.line.line_id}"


def line_page(
    session: Session, viewer: Viewer, slug: str, line_id: int, measure: str | None = None
) -> LinePage:
    """The board by the newest revision of a series and a measure (default: primary).

    Raises NotFound for a task without answers, for an unknown series, and while judgments are hidden;
    UnknownMeasure for a measure that the series does not support or that has no direction; Invalid if too
    many runs need scoring.
    """
    task, access = policy.visible_task(session, viewer, slug)
    if task.kind != KIND:
        raise NotFound(f"{task.name} takes {task.kind}: its other judgment series have no boards.")
    if not access.details:
        raise NotFound(f"{access.why} Boards by other judgment series are shown then.")
    line = line_scores.newest_of(session, task, line_id, access.topic_set)
    shown = shown_edition(session, task, access)
    measures = tuple(column_of(key) for key in line.keys)
    by = table.chosen(measures, _primary(line, task.primary_measure), measure)
    on_board = rank(read_rows(session, viewer, task, access, shown.edition, (by,)), by)
    scored = line_scores.of_runs(session, line, {row.run_id: row.ranking_sha256 for row in on_board})
    by_line = rank((_by_line(row, scored[row.run_id], line.keys) for row in on_board), by)
    agreement = _agreement(session, task, shown, line, (on_board, by_line, scored), by)
    return LinePage(
        of=task,
        access=access,
        basis=shown.basis,
        line=line,
        lines=line_scores.separate_series(session, task.id),
        by_line=line_scores.of_packed(line.packed),
        board=line_scores.of_edition(session, shown, access),
        measure=by,
        measures=measures,
        rows=_rows(viewer, {row.run_id: row for row in on_board}, by_line, by, agreement),
        agreement=agreement,
        topics=_topics(shown, by, agreement),
    )


def number_of(session: Session, viewer: Viewer, slug: str, name: str) -> int:
    """The number of the series of that name; raises NotFound as `line_page` does."""
    task, access = policy.visible_task(session, viewer, slug)
    lines = {series: number for number, series in line_scores.separate_series(session, task.id)}
    if not access.details or name not in lines:
        others = f"; it has {', '.join(lines)}" if access.details and lines else ""
        raise NotFound(f"{task.name} has no separate judgment series {name[:40]!r} for answers{others}.")
    return lines[name]


def _primary(line: LineRevision, primary: str) -> str:
    """The default measure of the series: the task's primary one if supported."""
    ranking = (key for key in line.keys if column_of(key).direction != "none" and line.topics_of(key))
    return primary if line.topics_of(primary) else next(ranking, primary)


def _by_line(row: Row, scored: RunByLine, keys: Sequence[str]) -> Row:
    """A run of the board with its scores under the series."""
    return replace(row, scores={key: scored.scores.get(key) for key in keys}, partial=scored.partial)


def _agreement(
    session: Session,
    task: Task,
    shown: ShownEdition,
    line: LineRevision,
    runs: tuple[Sequence[Row], Sequence[Row], Mapping[int, RunByLine]],
    by: MeasureColumn,
) -> LineAgreement | None:
    """The agreement on runs ranked on both boards; one statement."""
    if shown.source is None or shown.edition is None:
        return None
    on_board, by_line, scored = runs
    ranked = [row.run_id for row in on_board if row.rank is not None]
    source = evaluations_shown.narrowed(shown.source, shown.edition, by.key)
    of_board = scores_of(session, source, by.key, by.version, ranked)
    of_line = {row.run_id: scored[row.run_id].by_topic[by.key] for row in by_line if row.rank is not None}
    return line_agreement(
        ({run_id: by.sign * scores for run_id, scores in of_board.items()}, source.topics),
        ({run_id: by.sign * scores for run_id, scores in of_line.items()}, line.topics_of(by.key)),
        by.key,
        task.comparison,
    )


def _rows(
    viewer: Viewer,
    on_board: Mapping[int, Row],
    by_line: Sequence[Row],
    by: MeasureColumn,
    agreement: LineAgreement | None,
) -> tuple[LineRow, ...]:
    compared = _compared(agreement) if agreement is not None else {}
    return tuple(
        LineRow(
            **row.named(viewer),
            rank=row.rank,
            scores=row.scores,
            partial=row.partial,
            board_rank=on_board[row.run_id].rank,
            board_score=on_board[row.run_id].scores[by.key],
            **compared.get(row.run_id, {}),
        )
        for row in by_line
    )


def _compared(agreement: LineAgreement) -> dict[int, dict[str, Any]]:
    """Run id -> move and rank ranges, if both sides have topics."""
    judge_agreement, compared = agreement.found, {}
    for at, run_id in enumerate(agreement.run_ids):
        ranges = {}
        for side, verdicts in (
            ("", judge_agreement.verdicts),
            ("board_", judge_agreement.reference_verdicts),
        ):
            if verdicts is not None:
                ranges[f"{side}low"] = int(verdicts.rank_low[at])
                ranges[f"{side}high"] = int(verdicts.rank_high[at])
        compared[run_id] = (
            {"move": int(judge_agreement.moves.move[at]), **ranges}
            if judge_agreement.moves is not None
            else ranges
        )
    return compared


def _topics(
    shown: ShownEdition, by: MeasureColumn, agreement: LineAgreement | None
) -> tuple[AgreedTopic, ...]:
    if agreement is None or agreement.found.by_topic is None or shown.source is None or shown.edition is None:
        return ()
    topics = evaluations_shown.narrowed(shown.source, shown.edition, by.key).topics
    values = agreement.found.by_topic.tolist()
    return tuple(
        AgreedTopic(topic, None if math.isnan(value) else value)
        for topic, value in zip(topics, values, strict=True)
    )


DIGITS = 4
"""Decimals of coefficients."""


def runs_table(page: LinePage) -> Table[LineRow]:
    """Table of the runs under the series, best first, with their board ranks."""
    by = page.measure
    return Table(
        page.name,
        (
            f"Runs of {page.task} by {by.key}, under the judgment series {page.line.name}, revision "
            f"{page.line.number}, next to the board."
        ),
        columns_from(
            LineRow,
            "rank name run_id team kind",
            _score(by, "by"),
            _range("ranks", "Rank range", "low", "high"),
            _end("low"),
            _end("high"),
            Column("board", lambda row: row.board_score, "Board", digits=by.digits),
            "board_rank",
            _range("board_ranks", "Board rank range", "board_low", "board_high"),
            _end("board_low"),
            _end("board_high"),
            Column(
                "move",
                lambda row: row.move,
                "Move",
                words=lambda row: None if row.move is None else signed(row.move),
                digits=0,
                title="Ranks gained by this series relative to the board, among runs ranked on both.",
            ),
            *(_score(measure, "measure") for measure in page.measures if measure != by),
        ),
        page.rows,
    )


def topics_table(page: LinePage) -> Table[AgreedTopic]:
    """Table of the agreement by topic."""
    return Table(
        f"{page.name}-topics",
        f"Agreement of the judgment series {page.line.name} with the board by topic of {page.task}.",
        [
            Column("topic", lambda row: row.topic, "Topic"),
            Column(
                "agreement", lambda row: row.agreement, COEFFICIENTS["accuracy"].capitalize(), digits=DIGITS
            ),
        ],
        page.topics,
    )


def line_facts(page: LinePage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    line, basis = page.line, page.basis
    return {
        "task": page.slug,
        "line": {
            "number": line.line_id,
            "name": line.name,
            "revision": line.number,
            "note": line.note,
            "at": line.at.isoformat(),
            "sha256": line.sha256,
            "topics": len(line.topics),
            "made_by": dict(page.by_line.made_by),
        },
        "board": {
            "edition": basis.edition if basis is not None else None,
            "revision": basis.revision if basis is not None else None,
            "made_by": dict(page.board.made_by) if page.board is not None else {},
        },
        "measure": page.measure.key,
        "agreement": _agreement_facts(page),
        "runs": [
            {**row, "partial": {key: asdict(mean) for key, mean in given.partial.items()}}
            for row, given in zip(runs_table(page).facts(), page.rows, strict=True)
        ],
        "topics": topics_table(page).facts(),
    }


def in_words(page: LinePage) -> tuple[str, ...]:
    """Origin of both judgments and agreement of the boards, as sentences for the command line."""
    sides = ((page.line.name, page.by_line), ("the board", page.board))
    text = [
        f"{name}: {', '.join(f'{part} by {maker}' for part, maker in of.made_by)}."
        for name, of in sides
        if of is not None
    ]
    if page.agreement is None or page.agreement.found.boards is None:
        return (*text, "Fewer than three runs are ranked on both boards, so their agreement is not computed.")
    agreement = page.agreement.found
    numbers = {name: getattr(agreement.boards, key) for key, name in COEFFICIENTS.items()}
    stated = ", ".join(f"{name} {value:.4f}" for name, value in numbers.items() if value is not None)
    return (*text, f"{len(agreement.runs)} runs ranked on both boards, {agreement.topics} topics: {stated}.")


LINE_FILES: Files[LinePage] = Files(facts=line_facts, tables={"runs": runs_table, "topics": topics_table})


def _agreement_facts(page: LinePage) -> dict[str, Any] | None:
    """Coefficients of the boards, decided pairs, and the mean over topics."""
    if page.agreement is None:
        return None
    agreement = page.agreement.found
    return {
        "runs": len(agreement.runs),
        "topics": agreement.topics,
        "left_out": list(agreement.left_out),
        **{key: getattr(agreement.boards, key, None) for key in COEFFICIENTS},
        "at_least": agreement.least,
        "guaranteed": None if agreement.proved is None else [agreement.proved.low, agreement.proved.high],
        "by_topic": agreement.topic_mean,
        "undefined_topics": agreement.undefined_topics,
        "decided": None if agreement.decided is None else asdict(agreement.decided),
        "test": page.agreement.plan.method.key,
    }


def _score(measure: MeasureColumn, group: str) -> Column[LineRow]:
    return Column(
        measure.key,
        lambda row: row.scores[measure.key],
        measure.short,
        digits=measure.digits,
        title=measure.title,
        group=group,
    )


def _range(key: str, head: str, low: str, high: str) -> Column[LineRow]:
    """A rank range as text."""

    def words(row: LineRow) -> str | None:
        return None if getattr(row, low) is None else f"{getattr(row, low)}–{getattr(row, high)}"

    return Column(key, words, head, shown=~Place.DATA)


def _end(key: str) -> Column[LineRow]:
    return Column(key, lambda row: getattr(row, key), digits=0, shown=Place.DATA)
