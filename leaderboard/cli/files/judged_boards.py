"""Board files of judges compared with that of a reference, without a site."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from leaderboard.cli.files.judge_tables import groups_table, judges_table, runs_table, topics_table
from leaderboard.errors import Invalid
from leaderboard.judges.ops.field import (
    CircularAgreement,
    DeclaredFacts,
    GroupRating,
    by_family,
    by_team,
    circularity,
)
from leaderboard.scoring.ops.agreements import (
    AgreementPlan,
    JudgeAgreement,
    JudgesBoard,
    RankBy,
    judge_agreement,
    judges_board,
)
from leaderboard.trec.boards.align import reference_of
from leaderboard.trec.boards.board_files import BoardFile, Known, read_board
from leaderboard.trec.boards.forms import read_declared


@dataclass(frozen=True, slots=True)
class JudgeFiles:
    """The input files: one measure for all judges or one a judge; orders: of columns, "" to detect them."""

    reference: Path
    judges: tuple[Path, ...]
    reference_measure: str = ""
    measures: tuple[str, ...] = ()
    reference_order: str = ""
    order: str = ""
    facts: Path | None = None
    judge_facts: Path | None = None
    is_machine: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class JudgedBoards:
    """The judges' board with circularity and the runs each judge over-rates, in the order of its rows."""

    board: JudgesBoard
    circular: tuple[CircularAgreement, ...]
    teams: tuple[tuple[GroupRating, ...], ...]
    families: tuple[tuple[GroupRating, ...], ...]

    @property
    def agreements(self) -> list[JudgeAgreement]:
        """Agreement of each judge."""
        return [row.agreement for row in self.board.rows]


def hold(files: JudgeFiles, plan: AgreementPlan, rank_by: RankBy) -> JudgedBoards:
    """All files read, aligned and compared; raises Invalid as reading and alignment do."""
    reference = reference_of(
        read_board(files.reference, order=files.reference_order), files.reference_measure
    )
    expected = Known(set(reference.runs), set(reference.topics), drop=bool(plan.missing))
    boards = _named([read_board(path, expected, files.order) for path in files.judges], files.judges)
    measures = _measures(files, boards, plan)
    agreements = [
        judge_agreement(board, measure, reference, plan)
        for board, measure in zip(boards, measures, strict=True)
    ]
    board = judges_board(reference, agreements, plan, rank_by)
    facts = DeclaredFacts(
        read_declared(files.facts, "run") if files.facts else {},
        read_declared(files.judge_facts, "judge") if files.judge_facts else {},
        files.is_machine,
    )
    ordered = [row.agreement for row in board.rows]
    return JudgedBoards(
        board,
        tuple(circularity(agreement, facts) for agreement in ordered),
        tuple(by_team(agreement, facts) for agreement in ordered),
        tuple(by_family(agreement, facts) for agreement in ordered),
    )


def as_facts(judged: JudgedBoards) -> dict[str, Any]:
    """Everything as plain values at full precision."""
    board = judged.board
    judges = judges_table(board, judged.circular).facts()
    return {
        "reference": {
            "measure": board.reference.measure,
            "runs": len(board.reference.runs),
            "topics": len(board.reference.topics),
            "ceiling": board.ceiling,
            "warnings": [str(warning) for warning in board.reference.warnings],
        },
        "ranked_by": board.rank_by,
        "method": board.plan.method.key,
        "missing": board.plan.missing or "left out",
        "topic_agreement": board.plan.by,
        "verdict_topics": board.topics,
        "orders_differ": [list(pair) for pair in board.differing],
        "judges": [{**judge, **_of_judge(judged, at)} for at, judge in enumerate(judges)],
    }


def _of_judge(judged: JudgedBoards, at: int) -> dict[str, Any]:
    agreement, circular = judged.agreements[at], judged.circular[at]
    decided = agreement.decided
    return {
        "top": _part(agreement.boards, "top", "top_tau"),
        "undefined_topics": agreement.undefined_topics,
        "missing_runs": list(agreement.missing),
        "left_out_topics": list(agreement.left_out),
        "decided_pairs": None
        if decided is None
        else {**asdict(decided), "recall": decided.recall, "false_verdicts": decided.false_verdicts},
        "guaranteed": _part(agreement.proved, "low", "high"),
        "warnings": [str(warning) for warning in agreement.warnings],
        "circular": {
            "sentences": list(circular.sentences),
            "runs": list(circular.runs),
            "without": None if circular.without is None else asdict(circular.without),
            "over_rated": None if circular.rating is None else asdict(circular.rating),
        },
        "by_run": runs_table(agreement).facts(),
        "by_topic": topics_table(agreement, judged.board.reference.topics).facts(),
        "by_team": groups_table(agreement.judge, judged.teams[at]).facts(),
        "by_family": groups_table(agreement.judge, judged.families[at]).facts(),
    }


def _part(record: object, *names: str) -> dict[str, Any] | None:
    return None if record is None else {name: getattr(record, name) for name in names}


def _measures(files: JudgeFiles, boards: Sequence[BoardFile], plan: AgreementPlan) -> Sequence[str]:
    """The measure of each judge, "" if not given."""
    if len(files.measures) not in (0, 1, len(boards)):
        raise Invalid(
            f"There are {len(files.measures)} measures for {len(boards)} judges. Name one for all, or one "
            "per judge in their order."
        )
    measures = files.measures or ("",)
    measures = measures * len(boards) if len(measures) == 1 else measures
    for board, measure in zip(boards, measures, strict=True):
        if measure and measure not in board.measures and plan.missing != "default":
            raise Invalid(
                f"{board.name} has no measure {measure}; it has {', '.join(board.measures) or 'none'}."
            )
        if not measure and not board.measures:
            raise Invalid(f"{board.name} has no usable measure.")
    return measures


def _named(boards: Sequence[BoardFile], paths: Sequence[Path]) -> list[BoardFile]:
    """The boards under names of their own: files of the same name are called by their folders too."""
    count = Counter(board.name for board in boards)
    named = [
        replace(board, name=f"{path.absolute().parent.name}/{board.name}") if count[board.name] > 1 else board
        for board, path in zip(boards, paths, strict=True)
    ]
    if len({board.name for board in named}) < len(named):
        raise Invalid("A judge is listed twice. List each file once, with its own name or folder.")
    return named
