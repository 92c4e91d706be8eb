"""A topic's nuggets by run: labels of each answer, and number of supporting runs per nugget."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers as answers_services
from leaderboard.answers.ops.nuggets import scoring
from leaderboard.boards.ops.rows import rank, read_rows
from leaderboard.boards.page.scores import table
from leaderboard.core import policy
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Task
from leaderboard.errors import NotFound
from leaderboard.measures.answers.judged import UNLABELLED
from leaderboard.scoring.ops import scored_topics
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, shown_edition
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TopicHead
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.judgments import AnswerJudgments, size_of
from leaderboard.trec.nuggets.packing import PackedAnswers, Part
from leaderboard.trec.nuggets.sets import Nugget

NOT_JUDGED, UNANSWERED = "not_judged", "unanswered"
"""Labels in addition to assignments: the answer is unlabelled; the run has no answer."""


@dataclass(frozen=True, slots=True)
class LabelShape:
    """A label as displayed."""

    glyph: str
    word: str


OF_NUGGETS: Mapping[str, LabelShape] = {
    "support": LabelShape("●", "supported"),
    "partial_support": LabelShape("◐", "partially supported"),
    "not_support": LabelShape("○", "not supported"),
    "failed": LabelShape("×", "labelling failed"),
    UNANSWERED: LabelShape("–", "no answer"),
    NOT_JUDGED: LabelShape("?", "not judged"),
}
OF_CITATIONS: Mapping[int, LabelShape] = {
    2: LabelShape("●", "full support"),
    1: LabelShape("◐", "partial support"),
    0: LabelShape("○", "no support"),
    UNLABELLED: LabelShape("?", "not judged"),
}
VITAL_FIRST = {"vital": 0, "okay": 1, "failed": 2}


def in_order(nuggets: Sequence[Nugget]) -> list[int]:
    """Indices of a topic's nuggets, vital ones first, otherwise in set order."""
    return sorted(range(len(nuggets)), key=lambda place: VITAL_FIRST[nuggets[place].importance])


def labels_of(judgments: AnswerJudgments, run: str, topic: str, answer: Answer | None) -> tuple[str, ...]:
    """A key of OF_NUGGETS for each nugget of the topic, in set order; run: digest of its answers."""
    labels = judgments.labels(run, topic)
    if labels is not None:
        return labels
    missing = UNANSWERED if size_of(answer).words == 0 else NOT_JUDGED
    return (missing,) * len(judgments.nuggets.topics.get(topic, ()))


def maker(judged: PackedAnswers, *parts: Part) -> str:
    """The maker of the first existing part, as text; empty without any."""
    return next((str(judged.made_by[part]) for part in parts if part in judged.made_by), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRun(RunName):
    """A run with the labels of its answer, keys of OF_NUGGETS in the displayed order."""

    rank: int | None
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetRow:
    """A nugget, numbered from 1 in displayed order, with the number of runs per label."""

    number: Annotated[int, Shown("No.")]
    text: Annotated[str, Shown(key="nugget")]
    importance: str
    counts: Counter[str]

    @property
    def known(self) -> Annotated[int, Shown("Of runs")]:
        """Number of runs with known support: judged, or without an answer."""
        return self.counts.total() - self.counts[NOT_JUDGED]

    @property
    def held(self) -> Annotated[int, Shown("Supported by")]:
        """Number of runs that fully support it."""
        return self.counts["support"]

    @property
    def held_in_part(self) -> Annotated[int, Shown("Partially by")]:
        """Number of runs that partially support it."""
        return self.counts["partial_support"]

    @property
    def share(self) -> Annotated[float | None, Shown(digits=2)]:
        """Share of runs with full support among known ones; None without known runs."""
        return self.held / self.known if self.known else None

    @property
    def is_held_by_none(self) -> bool:
        """Whether no run supports any of it, among at least one run."""
        return self.known > 0 and not self.held and not self.held_in_part

    @property
    def is_held_by_all(self) -> bool:
        """Whether all known runs fully support it."""
        return 0 < self.known == self.held


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetsPage(TopicHead):
    """The nuggets of a topic, vital ones first, and the runs by rank; both empty without judgments."""

    measure: MeasureColumn | None
    """The measure that orders the runs."""
    nuggets: tuple[NuggetRow, ...]
    runs: tuple[LabelledRun, ...]
    nuggets_by: str
    """Makers of the nuggets, as text."""
    labels_by: str
    """Makers of the assignments; empty without any."""

    @property
    def made_by(self) -> tuple[tuple[str, str], ...]:
        """The makers of existing nuggets and labels."""
        parts = (("nuggets", self.nuggets_by), ("labels", self.labels_by))
        return tuple((part, maker) for part, maker in parts if maker)

    @property
    def vital(self) -> int:
        """Number of vital nuggets."""
        return sum(row.importance == "vital" for row in self.nuggets)

    @property
    def held_by_none(self) -> int:
        """Number of nuggets in no run."""
        return sum(row.is_held_by_none for row in self.nuggets)

    @property
    def held_by_all(self) -> int:
        """Number of nuggets in all runs."""
        return sum(row.is_held_by_all for row in self.nuggets)


def nuggets_page(
    session: Session, viewer: Viewer, slug: str, topic_id: str, measure: str | None = None
) -> NuggetsPage:
    """The nuggets of a topic, with runs ordered by a measure (default: primary).

    Raises NotFound for an unknown task or topic, a ranking task, and while judgments are hidden;
    UnknownMeasure for a measure that is not on the board or has no direction.
    """
    task, access = policy.visible_task(session, viewer, slug)
    placed = scored_topics.placed_topic(session, task, topic_id)
    if task.kind != "answers":
        raise NotFound(f"{task.name} takes rankings, which have no nuggets.")
    if not access.details:
        raise NotFound(f"{access.why} Nuggets and labels are shown then.")
    shown = shown_edition(session, task, access)
    judged: PackedAnswers | None = None
    by: MeasureColumn | None = None
    runs: tuple[LabelledRun, ...] = ()
    if shown.edition is not None:
        judged = scoring.of_revision(session, shown.edition.revision_id)
        by = table.chosen(table.fields_columns_of(shown.edition), shown.edition.primary_measure, measure)
        runs = _runs(session, viewer, (task, access, shown), judged, topic_id, by)
    nuggets = _nuggets(judged, topic_id, runs) if judged is not None else ()
    return NuggetsPage(
        **scored_topics.task_head(task, placed, access, shown),
        measure=by,
        nuggets=nuggets,
        runs=runs if nuggets else (),
        nuggets_by=maker(judged, "nuggets") if judged else "",
        labels_by=maker(judged, "assignments", "argue") if judged else "",
    )


def _runs(
    session: Session,
    viewer: Viewer,
    seen: tuple[Task, TaskAccess, ShownEdition],
    judged: PackedAnswers,
    topic_id: str,
    by: MeasureColumn,
) -> tuple[LabelledRun, ...]:
    """The runs in board order, each with its labels in displayed order."""
    task, access, shown = seen
    rows = rank(read_rows(session, viewer, task, access, shown.edition, (by,)), by)
    answers = dict(answers_services.of_topic_in(session, [row.run_id for row in rows], topic_id))
    places = in_order(judged.judgments.nuggets.topics.get(topic_id, ()))
    runs = []
    for row in rows:
        labels = labels_of(judged.judgments, row.ranking_sha256, topic_id, answers.get(row.run_id))
        runs.append(
            LabelledRun(**row.named(viewer), rank=row.rank, labels=tuple(labels[place] for place in places))
        )
    return tuple(runs)


def _nuggets(judged: PackedAnswers, topic_id: str, runs: Sequence[LabelledRun]) -> tuple[NuggetRow, ...]:
    given = judged.judgments.nuggets.topics.get(topic_id, ())
    return tuple(
        NuggetRow(
            number=number,
            text=given[place].text,
            importance=given[place].importance,
            counts=Counter(run.labels[number - 1] for run in runs),
        )
        for number, place in enumerate(in_order(given), start=1)
    )


@dataclass(frozen=True, slots=True)
class LabelRow:
    """The label of one nugget in one run's answer."""

    nugget: NuggetRow
    run: LabelledRun

    @property
    def label(self) -> str:
        """The run's label of the nugget."""
        return self.run.labels[self.nugget.number - 1]


def topic_facts(page: NuggetsPage) -> dict[str, Any]:
    """The page as plain values; a run's labels are in the order of the nuggets."""
    return {
        "task": page.slug,
        "topic": page.topic_id,
        "revision": page.basis.revision if page.basis else None,
        "nuggets_by": page.nuggets_by or None,
        "labels_by": page.labels_by or None,
        "measure": page.measure.key if page.measure else None,
        "nuggets": [
            {
                "text": row.text,
                "importance": row.importance,
                "held": row.held,
                "held_in_part": row.held_in_part,
                "known": row.known,
                "share": row.share,
            }
            for row in page.nuggets
        ],
        "runs": [
            {
                "run": run.name,
                "run_id": run.run_id,
                "team": run.team,
                "kind": run.kind,
                "rank": run.rank,
                "labels": list(run.labels),
            }
            for run in page.runs
        ],
    }


def nuggets(page: NuggetsPage) -> Table[NuggetRow]:
    """Table with one row per nugget and its number of supporting runs."""
    return Table(
        f"{page.slug}-{page.topic_id}-nuggets",
        f"Nuggets of topic {page.topic_id} of {page.task}, with the number of runs that support them.",
        columns_from(NuggetRow, "number text importance held held_in_part known share"),
        page.nuggets,
    )


def labels(page: NuggetsPage) -> Table[LabelRow]:
    """Table with one row per nugget and run."""
    return Table(
        f"{page.slug}-{page.topic_id}-labels",
        f"Labels of the nuggets of topic {page.topic_id} of {page.task}, one row per nugget and run.",
        columns_from(
            LabelRow,
            "nugget.number nugget.text nugget.importance run.rank run.name",
            Column("run_id", lambda row: row.run.run_id, "Number", digits=0),
            "label",
        ),
        tuple(_labels(page)),
    )


TOPIC_FILES = Files(facts=topic_facts, tables={"nuggets": nuggets, "labels": labels})


def _labels(page: NuggetsPage) -> Iterator[LabelRow]:
    for nugget in page.nuggets:
        for run in page.runs:
            yield LabelRow(nugget, run)
