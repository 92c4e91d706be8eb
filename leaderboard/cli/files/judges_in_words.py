"""Judges compared with a reference, as a terminal shows it."""

from collections.abc import Iterator

from leaderboard.cli.files.judge_tables import COEFFICIENTS, groups_table, judges_table, runs_table
from leaderboard.cli.files.judged_boards import JudgedBoards
from leaderboard.scoring.ops.agreements import JudgeAgreement, JudgesBoard
from leaderboard.stats.judges import RESAMPLES
from leaderboard.tables.markdown import aligned, four_decimals, table_lines
from leaderboard.tables.record import counted

MOST_RUNS = 10
"""Maximum runs shown for a judge."""
SCOPE = (
    "These coefficients describe these topics and runs. "
    "Differences between judges are tested on their agreement by topic."
)


def in_words(judged: JudgedBoards) -> str:
    """One judge in full, or the judges' board."""
    lines = _of_one(judged) if len(judged.board.rows) == 1 else _of_many(judged)
    return "\n".join([*lines, *_warnings(judged), ""])


def _of_many(judged: JudgedBoards) -> Iterator[str]:
    board = judged.board
    yield f"{counted(len(board.rows), 'judge')} against the reference by {_reference(board)}"
    if board.ceiling is not None:
        yield f"Ceiling: halves of the reference's topics agree by τ_b {board.ceiling:.4f}."
    yield ""
    yield from table_lines(judges_table(board, judged.circular))
    yield ""
    yield SCOPE
    if board.too_few:
        yield board.too_few
    if board.verdicts is not None:
        yield (
            f"Verdicts by {board.plan.method.title} over {counted(board.topics, 'topic')} on which all "
            "ranked judges have an agreement; they hold for all judges at once with 95 %."
        )
    if board.differing:
        pairs = "; ".join(f"{first} before {second}" for first, second in board.differing)
        yield f"The ranks and the agreement by topic put judges in different orders: by the ranks {pairs}."
    for row in board.rows:
        if row.why:
            yield f"{row.agreement.judge}: {row.why}"


def _of_one(judged: JudgedBoards) -> Iterator[str]:
    agreement, board = judged.agreements[0], judged.board
    yield (
        f"{agreement.judge} by {agreement.measure} against the reference by {_reference(board)}: "
        f"{counted(len(agreement.runs), 'common run')}, {counted(agreement.topics, 'topic')}"
    )
    if board.rows[0].why:
        yield board.rows[0].why
    if agreement.boards is None:
        return
    yield ""
    yield "agreement of the boards"
    for name, value, note in _coefficients(agreement, board):
        yield f"  {name:<18}  {value:>13}  {note}".rstrip()
    yield ""
    yield from _by_topic(agreement, board)
    yield from _decided(agreement)
    yield ""
    lines = table_lines(runs_table(agreement))
    yield from lines[: MOST_RUNS + 1]
    for groups in (judged.teams[0], judged.families[0]):
        if groups:
            yield ""
            yield from table_lines(groups_table(agreement.judge, groups))


def _coefficients(agreement: JudgeAgreement, board: JudgesBoard) -> Iterator[list[str]]:
    boards = agreement.boards
    for key, name in COEFFICIENTS.items():
        yield [name, four_decimals(getattr(boards, key)), ""]
        if key == "tau_b":
            yield [
                "  at least",
                four_decimals(agreement.least),
                f"5th percentile of {RESAMPLES:,} resamples of topics",
            ]
            yield ["  ceiling", four_decimals(board.ceiling), "between halves of the reference's topics"]
    if boards is not None and boards.top:
        yield ["τ_b of the top", four_decimals(boards.top_tau), f"of {boards.top} runs"]
    if (proved := agreement.proved) is not None:
        yield [
            "τ_b, guaranteed",
            f"{proved.low:.2f} to {proved.high:.2f}",
            "what is proved, not what is likely",
        ]


def _by_topic(agreement: JudgeAgreement, board: JudgesBoard) -> Iterator[str]:
    if agreement.by_topic is None:
        return
    name = COEFFICIENTS[board.plan.by]
    undefined = agreement.undefined_topics
    yield (
        f"Agreement by topic: mean {name} {four_decimals(agreement.topic_mean)} on "
        f"{counted(agreement.topics - undefined, 'topic')}; undefined on {undefined}, "
        "where a side ties all runs."
    )


def _decided(agreement: JudgeAgreement) -> Iterator[str]:
    if (decided := agreement.decided) is None:
        return
    yield ""
    yield from aligned(
        [
            ["pairs of runs", "same order", "opposite"],
            ["significant in both", f"{decided.both_same}", f"{decided.both_opposite}"],
            ["in one of them", f"{decided.one_same}", f"{decided.one_opposite}"],
            ["in neither", f"{decided.none_same}", f"{decided.none_opposite}"],
        ]
    )
    yield (
        f"The reference decides {decided.by_reference}, of which the judge finds {_share(decided.recall)}; "
        f"the judge decides {decided.by_judge}, of which {_share(decided.false_verdicts)} are false."
    )


def _warnings(judged: JudgedBoards) -> Iterator[str]:
    warnings = [f"reference: {warning}" for warning in judged.board.reference.warnings]
    for agreement, circular in zip(judged.agreements, judged.circular, strict=True):
        warnings += [f"{agreement.judge}: {warning}" for warning in agreement.warnings]
        if agreement.left_out:
            named = ", ".join(agreement.left_out[:5])
            warnings.append(
                f"{agreement.judge}: {counted(len(agreement.left_out), 'topic')} left out: {named}"
            )
        if agreement.missing:
            warnings.append(f"{agreement.judge}: missing runs: {', '.join(agreement.missing)}")
        warnings += [f"{agreement.judge}: {sentence}" for sentence in circular.sentences]
        if circular.runs:
            without = None if circular.without is None else circular.without.tau_b
            rated = (
                "" if circular.rating is None else f"; they are over-rated by {circular.rating.mean:+.4f} sd"
            )
            warnings.append(f"{agreement.judge}: τ_b without these runs is {four_decimals(without)}{rated}.")
        if agreement.measures > 1 and agreement.best and agreement.worst:
            warnings.append(
                f"{agreement.judge}: best of {agreement.measures} measures (not chosen beforehand): "
                f"{agreement.best.measure} {agreement.best.tau_b:.4f}; worst {agreement.worst.measure} "
                f"{agreement.worst.tau_b:.4f}."
            )
    if warnings:
        yield ""
        yield from warnings


def _reference(board: JudgesBoard) -> str:
    reference = board.reference
    runs, topics = counted(len(reference.runs), "run"), counted(len(reference.topics), "topic")
    return f"{reference.measure} ({runs}, {topics})"


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.1%}"
