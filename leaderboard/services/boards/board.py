"""A task's board: runs ranked by a measure under one edition, as one viewer may see it."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Job, Task
from leaderboard.errors import Invalid, UnknownMeasure
from leaderboard.measures.naming import parse
from leaderboard.services import policy
from leaderboard.services.boards import chosen_topics, groups, moves
from leaderboard.services.boards import rows as board_rows
from leaderboard.services.boards.groups import Group
from leaderboard.services.boards.moves import EditionBefore
from leaderboard.services.boards.rows import Row, rank, read_rows
from leaderboard.services.evaluations import choices, over_topics
from leaderboard.services.evaluations.choices import NOT_CHOSEN
from leaderboard.services.evaluations.columns import MeasureColumn, column, ranked_by
from leaderboard.services.evaluations.shown import ShownEdition, Source, shown_edition
from leaderboard.services.nuggets import basis as answers_basis
from leaderboard.services.nuggets.basis import AnswersBasis
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.runs import marks
from leaderboard.services.statistics import standings
from leaderboard.services.statistics.requests import WaitingResult, refusal
from leaderboard.services.statistics.sentences import leaders
from leaderboard.services.statistics.sentences import sentences as sentences_of
from leaderboard.services.statistics.standings import PairOfRuns, Place, RankedRun, Standing
from leaderboard.services.tasks import board_measures
from leaderboard.services.tasks.head import TaskHead
from leaderboard.stats.pairs.methods import method

CHOSEN_LATE = (
    "This group was declared after scores were there, so it may have been chosen by looking at them: its "
    "runs are ranked, and no verdict is given of which are better."
)


@dataclass(frozen=True, slots=True)
class EditionProgress:
    """A newer edition on its way: how many of its runs are scored, how many failed."""

    revision: int
    done: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Board(TaskHead):
    """What a board page shows."""

    visibility: str
    measures: tuple[MeasureColumn, ...]
    primary: str
    sorted_by: str
    ranked_by: str
    """The ranking value in words, such as `mean AP`."""
    rows: tuple[Row, ...]
    rescoring: EditionProgress | None
    editions: tuple[int, ...] = ()
    standing: Standing | WaitingResult | None = field(default=None, compare=False)
    """How the ranked runs stand to each other; None where it is held back or cannot be said."""
    sentences: tuple[str, ...] = ()
    """What the standing says, in words; or why there is none."""
    one_per_team: bool = False
    groups: tuple[str, ...] = ()
    """Names of the groups that have boards of their own."""
    group: Group | None = None
    """The group whose board it is; None is all runs."""
    source: Source | None = None
    """Where the scores by topic are, for a viewer who may see them."""
    at: datetime | None = None
    """The moment whose runs and edition are shown; None is now."""
    chosen_topics: tuple[str, ...] = ()
    """The topics that all values are of, where a reader chose some; empty is all."""
    before: EditionBefore | None = None
    """The edition shown before, with how each run moved since; None where there is nothing to compare."""
    answers: AnswersBasis | None = None
    """What scores of answers rest on; None for rankings, and while judgments are held back."""

    @property
    def by(self) -> MeasureColumn:
        """The measure that it is ranked by."""
        return next(measure for measure in self.measures if measure.key == self.sorted_by)

    @property
    def places(self) -> dict[int, Place]:
        """Run id -> its place among the ranked runs; empty where there is no standing."""
        return self.standing.places if isinstance(self.standing, Standing) else {}

    @property
    def may_be_best(self) -> int:
        """How many runs may be the best; 0 too where that is not known, or not yet."""
        return self.standing.may_be_best if isinstance(self.standing, Standing) else 0


def board(
    session: Session,
    viewer: Viewer,
    slug: str,
    measure: str | None = None,
    edition: int | None = None,
    *,
    one_per_team: bool = False,
    group: str | None = None,
    at: datetime | None = None,
    topics: Collection[str] = (),
) -> Board:
    """The task's board, ranked by a measure (its primary one unless said otherwise).

    edition is the number of an earlier edition, at a moment whose edition and runs are wanted, with the
    scores these runs have by now. one_per_team leaves of each team's ranked runs the best that it marked,
    else its best, with ranks and verdicts among all; group of all runs those of a group, ranked within it;
    topics are those that all values are of, without verdicts. Raises NotFound for an unknown task, edition,
    group and a moment before the first, UnknownMeasure for one that is not a column or cannot rank, Invalid
    for an edition and a moment at once and for topics that do not count.
    """
    task, sight = policy.visible_task(session, viewer, slug)
    if edition is not None and at is not None:
        raise Invalid("Give either an edition or a date of the board, not both.")
    shown, why = chosen_topics.narrowed(shown_edition(session, task, sight, edition, at), sight, topics)
    measures, primary, sorted_by = _measures(task, sight, shown, measure)
    chosen = None if group is None else groups.find(session, task, group)
    shown = _over_its_topics(shown, sorted_by)
    rows = _rows(session, viewer, (task, sight, shown), measures, sorted_by, chosen, at, is_whole=not why)
    answers = answers_basis.of_edition(session, shown, sight)
    before = moves.since_before(shown, rows, sorted_by)
    standing, sentences = _standing(session, task, sight, shown, sorted_by, rows, chosen, why)
    rows = _of_teams(session, task, rows) if one_per_team and sight.means else rows
    return Board(
        of=task,
        visibility=sight.rule.visibility if sight.rule is not None else "open",
        basis=shown.basis,
        measures=measures,
        primary=primary,
        sorted_by=sorted_by.key,
        ranked_by=ranked_by(sorted_by),
        rows=rows,
        rescoring=_rescoring(session, shown) if {edition, sight.edition, at} == {None} else None,
        sight=sight,
        editions=shown.numbers,
        standing=standing,
        sentences=sentences[:1] + _on_the_choice(task, rows) + sentences[1:] + _on_judgments(shown, answers),
        one_per_team=one_per_team,
        groups=groups.names_of(session, task) if shown.may_have_groups else (),
        group=chosen,
        source=shown.source if sight.details else None,
        at=at,
        chosen_topics=shown.source.topics if why and shown.source is not None else (),
        before=before,
        answers=answers,
    )


def _measures(
    task: Task, sight: Sight, shown: ShownEdition, name: str | None
) -> tuple[tuple[MeasureColumn, ...], str, MeasureColumn]:
    """The measures that the viewer sees, the key of the primary one, and the one to rank by."""
    edition = shown.edition
    if edition is None:
        keys, primary = task.measures, task.primary_measure
    else:
        keys, primary = [measure["key"] for measure in edition.measures], edition.primary_measure
    seen = tuple(column(parse(key)) for key in keys if not sight.hides(key))
    return seen, primary, _sort_measure(seen, name, primary)


def _over_its_topics(shown: ShownEdition, by: MeasureColumn) -> ShownEdition:
    """The edition with the topics that a measure of answers is over, which may be fewer than all."""
    if shown.source is None or shown.edition is None:
        return shown
    return replace(shown, source=over_topics.narrowed(shown.source, shown.edition, by.key))


def _rows(
    session: Session,
    viewer: Viewer,
    seen: tuple[Task, Sight, ShownEdition],
    measures: tuple[MeasureColumn, ...],
    by: MeasureColumn,
    group: Group | None,
    at: datetime | None,
    *,
    is_whole: bool,
) -> tuple[Row, ...]:
    """The rows in order; with what each got in the edition before, where that can be compared."""
    task, sight, shown = seen
    before = moves.comparable(shown, by) if at is None and is_whole else None
    read = _of_group(read_rows(session, viewer, task, sight, shown.edition, measures, at, before), group)
    return rank(read if is_whole else chosen_topics.on_topics(session, shown.source, measures, read), by)


def _of_group(rows: list[Row], group: Group | None) -> list[Row]:
    return [row for row in rows if group is None or group.has(row.team_id, row.run_id)]


def _of_teams(session: Session, task: Task, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    # Chosen by their scores, so no family of their own: ranks and verdicts stay those of all runs.
    return tuple(board_rows.one_per_team(rows, marks.shown(session, task)))


def _on_judgments(shown: ShownEdition, answers: AnswersBasis | None) -> tuple[str, ...]:
    """What the board lacks judgments for, and what is to be known of those of answers."""
    return board_measures.lacking(shown) + (answers.sentences if answers is not None else ())


def _on_the_choice(task: Task, rows: tuple[Row, ...]) -> tuple[str, ...]:
    """What decided which runs have ranks, where not all of them do."""
    is_decided = any(row.kind == NOT_CHOSEN for row in rows)
    return (choices.rule_in_words(task),) if is_decided else ()


def differences(
    session: Session, shown: Board, reference: int, run_ids: Collection[int] | None = None
) -> dict[int, PairOfRuns]:
    """Run id -> the difference of each other ranked run, of some or of all, from a scored run, the reference.

    Empty where there is no standing; at most one statement.
    """
    standing = shown.standing
    if not isinstance(standing, Standing) or shown.source is None or standing.topics < 2:
        return {}
    chosen = set(standing.run_ids) if run_ids is None else set(run_ids)
    others = [run_id for run_id in standing.run_ids if run_id in chosen and run_id != reference]
    if reference in standing.run_ids:
        return {run_id: standing.pair(run_id, reference) for run_id in others}
    measure = shown.by.key, shown.by.version
    return standings.against(session, shown.source, measure, standing.sign, others, reference)


def _standing(
    session: Session,
    task: Task,
    sight: Sight,
    shown: ShownEdition,
    by: MeasureColumn,
    rows: tuple[Row, ...],
    group: Group | None,
    why_not: str,
) -> tuple[Standing | WaitingResult | None, tuple[str, ...]]:
    """How the ranked runs stand to each other, and what that says in words, or why nothing is said."""
    if why_not:
        return None, (why_not,)
    ranked = [
        RankedRun(row.run_id, row.ranking_sha256, row.run, value)
        for row in rows
        if row.rank is not None and (value := row.scores[by.key]) is not None
    ]
    if shown.source is None or not sight.details or not ranked:
        return None, ()
    if why := refusal(parse(by.key).measure):
        return None, (leaders(ranked, ranked_by(by), by.digits, by.sign), why)
    if group is not None and not group.is_early:
        return None, (CHOSEN_LATE,)
    standing = standings.of_runs(
        session, shown.source, (by.key, by.version), by.sign, ranked, method(task.comparison)
    )
    if isinstance(standing, WaitingResult):
        return standing, ()
    of = f" of the group {group.name}" if group is not None else ""
    return standing, sentences_of(standing, ranked, ranked_by(by), by.digits, of)


def _sort_measure(measures: tuple[MeasureColumn, ...], name: str | None, primary: str) -> MeasureColumn:
    columns = {measure.key: measure for measure in measures}
    key = primary if name is None else parse(name).key
    chosen = columns.get(key)
    if chosen is None:
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(columns)}.")
    if chosen.direction == "none":
        raise UnknownMeasure(f"{key} has no better or worse, so the board cannot be ranked by it.")
    return chosen


def _rescoring(session: Session, shown: ShownEdition) -> EditionProgress | None:
    if shown.building is None:
        return None
    states = session.scalars(
        select(Job.state).where(Job.edition_id == shown.building, Job.state != "superseded")
    ).all()
    return EditionProgress(shown.building_revision, states.count("done"), states.count("failed"), len(states))
