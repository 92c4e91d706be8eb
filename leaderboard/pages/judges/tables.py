"""Judges, and one judge by run, topic and group of runs, as tables and files."""

from typing import Any

from leaderboard.pages.judges.board import JudgeLine, JudgesPage, ReferencePage
from leaderboard.pages.judges.judge import AgreedTopic, JudgePage, JudgeTopicPage, Range, RatedRun
from leaderboard.services.judges.circularity import GroupRating
from leaderboard.tables.record import Column, Files, Place, Table, columns_from

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
        page.name,
        f"Judges of {page.task} by {RANKED_BY[page.rank_by]}, held against {page.source}.",
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
                title="τ_b of the boards without the runs that are not independent of the judge.",
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
        (f" on topic {page.topic_id}", "best by the reference")
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
            Column("move", lambda row: row.move, "Move", digits=0, words=lambda row: _signed(row.move)),
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
    """By how much the judge over-rates teams, and runs of its own family of models."""
    return Table(
        f"{page.name}-groups",
        f"By how many standard deviations {page.judge.name} over-rates groups of runs.",
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
