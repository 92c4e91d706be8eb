"""Judges, and one judge by run, topic and group of runs, as tables and files."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.core.policy import Viewer
from leaderboard.errors import NotFound
from leaderboard.judges.ops.field import GroupRating, by_family, by_team
from leaderboard.judges.ops.labels.comparison import JudgedLabels
from leaderboard.judges.page import labels as label_pages
from leaderboard.judges.page.board import (
    JudgeLine,
    JudgesPage,
    ReferencePage,
    SeenJudges,
    head_of,
    line_of,
    seen_judges,
)
from leaderboard.scoring.ops import agreements
from leaderboard.scoring.ops.agreements import COEFFICIENTS, AgreedTopic, AgreementPlan, JudgeAgreement
from leaderboard.stats.orders.rank_correlation import largest_moves
from leaderboard.stats.standing import Verdicts
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from, signed
from leaderboard.trec.boards.align import FloatArray, align

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RatedRun:
    """A run of the reference: values and ranks by both; move: ranks gained on the judge's board.

    over: over-rating by the judge in standard deviations; ranges, over None if undefined.
    """

    run: str
    reference: float
    judge: Annotated[float, Shown("Judge", key="judged")]
    reference_rank: Annotated[int, Shown("Rank")]
    judge_rank: Annotated[int, Shown("By judge", key="judged_rank")]
    move: int
    reference_range: Range | None = None
    judge_range: Range | None = None
    over: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePage(ReferencePage):
    """One judge: runs, largest moves first; topics in the reference's order; groups by over-rating."""

    judge: JudgeLine
    plan: AgreementPlan
    ceiling: float | None
    runs: tuple[RatedRun, ...]
    topics: tuple[AgreedTopic, ...]
    teams: tuple[GroupRating, ...]
    families: tuple[GroupRating, ...]
    labels: label_pages.SentLabels | None = None
    """The judge's submission, if it is labels."""
    judged_labels: JudgedLabels | None = None
    """Its labels compared with the reference's judgments, if visible to the viewer."""

    @property
    def name(self) -> str:
        """Base name of the page's tables."""
        return f"{self.slug}-judge-{self.judge.run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTopicPage(ReferencePage):
    """One topic by the reference and a judge; runs best first by the reference."""

    judge: JudgeLine
    topic_id: str
    agreement: float | None
    runs: tuple[RatedRun, ...]
    previous: str | None
    following: str | None

    @property
    def name(self) -> str:
        """Base name of the page's tables."""
        return f"{self.slug}-judge-{self.judge.run_id}-{self.topic_id}"


def judge_page(session: Session, viewer: Viewer, slug: str, run_id: int) -> JudgePage:
    """One judge; raises NotFound for a run that is not a judge of the task, and as `seen_judges` does."""
    seen = seen_judges(session, viewer, slug)
    line = _line(viewer, seen, run_id)
    assert seen.judged is not None, "a judge is compared with a reference"
    judged, head = seen.judged, seen.head
    assert seen.reference.kept is not None, "a judge is compared with a reference"
    agreement = agreements.agreement_of(seen.reference.kept, seen.boards[run_id], judged.board.plan)
    line = replace(line, agreement=agreement)
    judged_labels, labels = label_pages.summary(session, viewer, seen.reference, seen.rows[line.name])
    return JudgePage(
        **head_of(head),
        judge=line,
        plan=judged.board.plan,
        ceiling=judged.board.ceiling,
        runs=_runs(agreement),
        topics=_topics(seen, agreement),
        teams=by_team(agreement, judged.facts),
        families=by_family(agreement, judged.facts),
        labels=labels,
        judged_labels=judged_labels,
    )


def judge_topic_page(
    session: Session, viewer: Viewer, slug: str, run_id: int, topic_id: str
) -> JudgeTopicPage:
    """One topic of a judge; raises NotFound for a topic that the reference or the judge lacks."""
    seen = seen_judges(session, viewer, slug)
    line = _line(viewer, seen, run_id)
    reference = seen.head.reference
    assert reference is not None, "a judge is compared with a reference"
    if topic_id not in reference.topics:
        raise NotFound(f"The reference has no topic {topic_id[:40]!r}.")
    at = reference.topics.index(topic_id)
    board = seen.boards[run_id]
    aligned = align(board.board, board.primary, reference)
    places = np.flatnonzero(aligned.topics == at)
    if not len(places):
        raise NotFound(f"{line.name} lacks topic {topic_id} for some run, so the topic is left out.")
    reference_scores, judge_scores = reference.scores[aligned.runs, at], aligned.scores[:, places[0]]
    topics = reference.topics
    return JudgeTopicPage(
        **head_of(seen.head),
        judge=line,
        topic_id=topic_id,
        agreement=_topics(seen, line.agreement)[at].agreement,
        runs=_rated([reference.runs[run] for run in aligned.runs], reference_scores, judge_scores),
        previous=topics[at - 1] if at else None,
        following=topics[at + 1] if at + 1 < len(topics) else None,
    )


def _line(viewer: Viewer, seen: SeenJudges, run_id: int) -> JudgeLine:
    name = next((name for name, row in seen.rows.items() if row.run_id == run_id), None)
    if name is None:
        raise NotFound(f"{seen.head.task} has no visible judge with run {run_id}.", run=run_id)
    return line_of(viewer, seen, name)


def _runs(agreement: JudgeAgreement) -> tuple[RatedRun, ...]:
    """The shared runs, largest moves first."""
    if agreement.moves is None:
        return ()
    moves, over = agreement.moves, None
    if agreement.over is not None and agreement.over.size:
        over = agreement.over.mean(axis=1)
    return tuple(
        RatedRun(
            run=agreement.runs[at],
            reference=float(agreement.reference_means[at]),
            judge=float(agreement.means[at]),
            reference_rank=int(moves.first_rank[at]),
            judge_rank=int(moves.second_rank[at]),
            move=int(moves.move[at]),
            reference_range=_range(agreement.reference_verdicts, at),
            judge_range=_range(agreement.verdicts, at),
            over=float(over[at]) if over is not None else None,
        )
        for at in moves.order.tolist()
    )


def _rated(names: list[str], reference_scores: FloatArray, judge_scores: FloatArray) -> tuple[RatedRun, ...]:
    moves = largest_moves(reference_scores, judge_scores)
    order = np.lexsort((moves.second_rank, moves.first_rank)).tolist()
    return tuple(
        RatedRun(
            run=names[at],
            reference=float(reference_scores[at]),
            judge=float(judge_scores[at]),
            reference_rank=int(moves.first_rank[at]),
            judge_rank=int(moves.second_rank[at]),
            move=int(moves.move[at]),
        )
        for at in order
    )


def _topics(seen: SeenJudges, agreement: JudgeAgreement) -> tuple[AgreedTopic, ...]:
    reference = seen.head.reference
    assert reference is not None, "a judge is compared with a reference"
    values = agreement.by_topic
    if values is None:
        return tuple(AgreedTopic(topic, None) for topic in reference.topics)
    return tuple(
        AgreedTopic(topic, None if np.isnan(value) else float(value))
        for topic, value in zip(reference.topics, values, strict=True)
    )


def _range(verdicts: Verdicts | None, at: int) -> Range | None:
    return None if verdicts is None else (int(verdicts.rank_low[at]), int(verdicts.rank_high[at]))


RANKED_BY = {
    **{key: name for key, name in COEFFICIENTS.items() if key != "r"},
    "topics": "agreement by topic",
}
_ELSEWHERE = Place.DATA


def judges_table(page: JudgesPage) -> Table[JudgeLine]:
    """The judges, best first."""
    return Table(
        page.name,
        f"Judges of {page.task} by {RANKED_BY[page.rank_by]}, compared with {page.source}.",
        columns_from(
            JudgeLine,
            "rank",
            Column("judge", lambda line: line.name, "Judge"),
            "run_id team",
            Column("tau_b", _coefficient("tau_b"), "τ_b of the boards", digits=4),
            "agreement.least",
            *(
                Column(key, _coefficient(key), name, digits=4, shown=_place(page, key))
                for key, name in COEFFICIENTS.items()
                if key != "tau_b"
            ),
            "agreement.topic_mean",
            Column("range", _ranks, "Ranks", shown=~_ELSEWHERE),
            "low high may_be_best beats",
            Column("runs", lambda line: len(line.agreement.runs), "Runs", digits=0),
            "agreement.topics agreement.undefined_topics",
            Column(
                "tau_b_without",
                _without,
                "Less circular",
                title="τ_b of the boards without runs that are not independent of the judge.",
                digits=4,
                shown=_circular(page),
            ),
            "agreement.measure",
            Column("best_of", _best, "Best of its measures", shown=_several(page)),
            "why",
        ),
        page.lines,
    )


def runs_table(page: JudgePage | JudgeTopicPage) -> Table[RatedRun]:
    """The runs by reference and judge."""
    is_topic = isinstance(page, JudgeTopicPage)
    of, first = (
        (f" on topic {page.topic_id}", "highest in the reference")
        if isinstance(page, JudgeTopicPage)
        else ("", "largest moves")
    )
    more = Place(0) if is_topic else Place.EVERYWHERE
    return Table(
        f"{page.name}-runs",
        f"Runs{of} by the reference and by {page.judge.name}, {first} first.",
        columns_from(
            RatedRun,
            "run reference judge reference_rank judge_rank",
            Column("move", lambda row: row.move, "Move", digits=0, words=lambda row: signed(row.move)),
            Column("reference_range", lambda row: _dashed(row.reference_range), "Ranks", shown=more),
            Column("judged_range", lambda row: _dashed(row.judge_range), "Ranks by judge", shown=more),
            Column("over_rated", lambda row: row.over, "Over-rated (sd)", digits=4, shown=more),
        ),
        page.runs,
    )


def topics_table(page: JudgePage) -> Table[AgreedTopic]:
    """The agreement within each topic."""
    return Table(
        f"{page.name}-topics",
        f"Agreement of {page.judge.name} with the reference within each topic.",
        [
            Column("topic", lambda row: row.topic, "Topic"),
            Column("agreement", lambda row: row.agreement, COEFFICIENTS[page.plan.by], digits=4),
        ],
        page.topics,
    )


def groups_table(page: JudgePage) -> Table[GroupRating]:
    """The judge's over-rating of teams, and of runs of its own model family."""
    return Table(
        f"{page.name}-groups",
        f"Over-rating of groups of runs by {page.judge.name}, in standard deviations.",
        columns_from(GroupRating, "name runs rating.mean rating.low rating.high"),
        (*page.families, *page.teams),
    )


def board_facts(page: JudgesPage) -> dict[str, Any]:
    """The judges' board as plain values."""
    return {
        **_head(page),
        "ceiling": page.board.ceiling if page.board is not None else None,
        "judges": judges_table(page).facts(),
        "differing": [list(pair) for pair in page.board.differing] if page.board is not None else [],
    }


def judge_facts(page: JudgePage) -> dict[str, Any]:
    """One judge as plain values."""
    agreement = page.judge.agreement
    return {
        **_head(page),
        "judge": page.judge.name,
        "run_id": page.judge.run_id,
        "measure": agreement.measure,
        **{key: getattr(agreement.boards, key, None) for key in COEFFICIENTS},
        "at_least": agreement.least,
        "ceiling": page.ceiling,
        "circular": list(page.judge.circular.sentences),
        "runs": runs_table(page).facts(),
        "topics": topics_table(page).facts(),
        "groups": groups_table(page).facts(),
    }


def topic_facts(page: JudgeTopicPage) -> dict[str, Any]:
    """One topic of a judge as plain values."""
    return {
        **_head(page),
        "judge": page.judge.name,
        "run_id": page.judge.run_id,
        "topic": page.topic_id,
        "agreement": page.agreement,
        "runs": runs_table(page).facts(),
    }


BOARD_FILES: Files[JudgesPage] = Files(facts=board_facts, tables={"judges": judges_table})
JUDGE_FILES: Files[JudgePage] = Files(
    facts=judge_facts, tables={"runs": runs_table, "topics": topics_table, "groups": groups_table}
)
TOPIC_FILES: Files[JudgeTopicPage] = Files(facts=topic_facts, tables={"runs": runs_table})


def _head(page: ReferencePage) -> dict[str, Any]:
    return {
        "task": page.slug,
        "reference": page.source,
        "by_machine": page.is_machine,
        "edition": page.basis.edition if page.basis is not None else None,
        "ranked_by": page.rank_by,
    }


def _coefficient(key: str) -> Any:
    return lambda line: getattr(line.agreement.boards, key, None)


def _place(page: JudgesPage, key: str) -> Place:
    return Place.EVERYWHERE if key == page.rank_by else _ELSEWHERE


def _circular(page: JudgesPage) -> Place:
    return Place.EVERYWHERE if any(line.circular.runs for line in page.lines) else _ELSEWHERE


def _several(page: JudgesPage) -> Place:
    return Place.EVERYWHERE if any(line.agreement.measures > 1 for line in page.lines) else _ELSEWHERE


def _without(line: JudgeLine) -> float | None:
    return getattr(line.circular.without, "tau_b", None)


def _best(line: JudgeLine) -> str:
    agreement = line.agreement
    if agreement.measures < 2 or agreement.best is None:
        return ""
    of = f"best of {agreement.measures} measures (not chosen beforehand)"
    return f"{agreement.best.tau_b:.4f} by {agreement.best.measure}: {of}"


def _ranks(line: JudgeLine) -> str | None:
    return None if line.low is None or line.high is None else _dashed((line.low, line.high))


def _dashed(ranks: Range | None) -> str | None:
    return None if ranks is None else f"{ranks[0]}–{ranks[1]}"
