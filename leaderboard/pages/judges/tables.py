"""Judges, and one judge by run, topic and group of runs, as tables and files."""

from typing import Any

from leaderboard.pages.judges.board import JudgeLine, JudgesPage, ReferencePage
from leaderboard.pages.judges.judge import AgreedTopic, JudgePage, JudgeTopicPage, Range, RatedRun
from leaderboard.services.judges.circularity import GroupRating
from leaderboard.tables.record import Column, Files, Place, Table

COEFFICIENTS = {
    "tau_b": "τ_b",
    "tau_ap_b": "τ_AP,b",
    "rho": "Spearman’s ρ",
    "r": "Pearson’s r",
    "rbo": "RBO (p .9)",
    "accuracy": "pairwise accuracy",
}
"""Names in files -> names for readers."""
RANKED_BY = {
    **{key: name for key, name in COEFFICIENTS.items() if key != "r"},
    "topics": "agreement by topic",
}
_ELSEWHERE = Place.DATA


def judges_table(page: JudgesPage) -> Table[JudgeLine]:
    """The judges, best first."""
    return Table(
        name=page.name,
        caption=f"Judges of {page.task} by {RANKED_BY[page.rank_by]}, held against {page.source}.",
        columns=[
            Column(key="rank", head="Rank", value=lambda line: line.rank, digits=0),
            Column(key="judge", head="Judge", value=lambda line: line.name),
            Column(key="run_id", value=lambda line: line.run_id, digits=0, shown=_ELSEWHERE),
            Column(key="team", head="Team", value=lambda line: line.team),
            Column(key="tau_b", head="τ_b of the boards", value=_coefficient("tau_b"), digits=4),
            Column(key="at_least", head="At least", value=lambda line: line.agreement.least, digits=4),
            *(
                Column(key=key, head=name, value=_coefficient(key), digits=4, shown=_place(page, key))
                for key, name in COEFFICIENTS.items()
                if key != "tau_b"
            ),
            Column(key="by_topic", head="By topic", value=lambda line: line.agreement.topic_mean, digits=4),
            Column(key="range", head="Ranks", value=_ranks, shown=~_ELSEWHERE),
            Column(key="rank_low", value=lambda line: line.low, digits=0, shown=_ELSEWHERE),
            Column(key="rank_high", value=lambda line: line.high, digits=0, shown=_ELSEWHERE),
            Column(key="may_be_best", value=lambda line: line.may_be_best, shown=_ELSEWHERE),
            Column(key="beats", head="Beats", value=lambda line: line.beats, digits=0),
            Column(key="runs", head="Runs", value=lambda line: len(line.agreement.runs), digits=0),
            Column(key="topics", head="Topics", value=lambda line: line.agreement.topics, digits=0),
            Column(
                key="undefined",
                value=lambda line: line.agreement.undefined_topics,
                digits=0,
                shown=_ELSEWHERE,
            ),
            Column(
                key="tau_b_without",
                head="Less circular",
                title="τ_b of the boards without the runs that are not independent of the judge.",
                value=_without,
                digits=4,
                shown=_circular(page),
            ),
            Column(key="measure", head="Measure", value=lambda line: line.agreement.measure),
            Column(key="best_of", head="Best of its measures", value=_best, shown=_several(page)),
            Column(key="note", head="No rank", value=lambda line: line.why, shown=_ELSEWHERE),
        ],
        rows=page.lines,
    )


def runs_table(page: JudgePage | JudgeTopicPage) -> Table[RatedRun]:
    """The runs by reference and judge."""
    is_topic = isinstance(page, JudgeTopicPage)
    of, first = (
        (f" on topic {page.topic_id}", "best by the reference")
        if isinstance(page, JudgeTopicPage)
        else ("", "largest moves")
    )
    more = Place(0) if is_topic else Place.EVERYWHERE
    return Table(
        name=f"{page.name}-runs",
        caption=f"Runs{of} by the reference and by {page.judge.name}, {first} first.",
        columns=[
            Column(key="run", head="Run", value=lambda row: row.run),
            Column(key="reference", head="Reference", value=lambda row: row.reference, digits=4),
            Column(key="judged", head="Judge", value=lambda row: row.judge, digits=4),
            Column(key="reference_rank", head="Rank", value=lambda row: row.reference_rank, digits=0),
            Column(key="judged_rank", head="By judge", value=lambda row: row.judge_rank, digits=0),
            Column(
                key="move",
                head="Move",
                value=lambda row: row.move,
                digits=0,
                words=lambda row: _signed(row.move),
            ),
            Column(
                key="reference_range",
                head="Ranks",
                value=lambda row: _dashed(row.reference_range),
                shown=more,
            ),
            Column(
                key="judged_range",
                head="Ranks by judge",
                value=lambda row: _dashed(row.judge_range),
                shown=more,
            ),
            Column(
                key="over_rated", head="Over-rated (sd)", value=lambda row: row.over, digits=4, shown=more
            ),
        ],
        rows=page.runs,
    )


def topics_table(page: JudgePage) -> Table[AgreedTopic]:
    """The agreement within each topic."""
    return Table(
        name=f"{page.name}-topics",
        caption=f"Agreement of {page.judge.name} with the reference within each topic.",
        columns=[
            Column(key="topic", head="Topic", value=lambda row: row.topic),
            Column(
                key="agreement", head=COEFFICIENTS[page.plan.by], value=lambda row: row.agreement, digits=4
            ),
        ],
        rows=page.topics,
    )


def groups_table(page: JudgePage) -> Table[GroupRating]:
    """By how much the judge over-rates teams, and runs of its own family of models."""
    return Table(
        name=f"{page.name}-groups",
        caption=f"By how many standard deviations {page.judge.name} over-rates groups of runs.",
        columns=[
            Column(key="group", head="Runs of", value=lambda row: row.name),
            Column(key="runs", head="Runs", value=lambda row: row.runs, digits=0),
            Column(key="over_rated", head="Over-rated (sd)", value=lambda row: row.rating.mean, digits=4),
            Column(key="low", head="95% from", value=lambda row: row.rating.low, digits=4),
            Column(key="high", head="to", value=lambda row: row.rating.high, digits=4),
        ],
        rows=(*page.families, *page.teams),
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
    found = page.judge.agreement
    return {
        **_head(page),
        "judge": page.judge.name,
        "run_id": page.judge.run_id,
        "measure": found.measure,
        **{key: getattr(found.boards, key, None) for key in COEFFICIENTS},
        "at_least": found.least,
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
    found = line.agreement
    if found.measures < 2 or found.best is None:
        return ""
    of = f"best of {found.measures} measures (not chosen beforehand)"
    return f"{found.best.tau_b:.4f} by {found.best.measure}: {of}"


def _ranks(line: JudgeLine) -> str | None:
    return None if line.low is None or line.high is None else _dashed((line.low, line.high))


def _dashed(found: Range | None) -> str | None:
    return None if found is None else f"{found[0]}–{found[1]}"


def _signed(move: int) -> str:
    return f"{move:+d}".replace("-", "−") if move else "0"
