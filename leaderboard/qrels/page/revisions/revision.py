"""One revision of judgments: its changes and rank changes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.ops.nuggets import scoring
from leaderboard.answers.page.nuggets.facts import AnswersFacts, text_of
from leaderboard.boards.page.scores import table
from leaderboard.core import policy
from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Edition, Qrels, QrelsRevision, Task
from leaderboard.errors import NotFound
from leaderboard.qrels.page.revisions import judgment_changes, rank_changes
from leaderboard.qrels.page.revisions.judgment_changes import Changes, TopicMeans
from leaderboard.qrels.page.revisions.lists import (
    BuildingEdition,
    Line,
    RevisionRow,
    building,
    lines_of,
    row_facts,
)
from leaderboard.qrels.page.revisions.rank_changes import ChangedJudgments, RankChanges, changed_titles
from leaderboard.scoring.ops.evaluations import shown as evaluations_shown
from leaderboard.scoring.ops.evaluations.shown import means, scores_of, source_of
from leaderboard.scoring.ops.qrels import files, left_out, lines
from leaderboard.scoring.ops.qrels.files import MAIN, PreparedQrels
from leaderboard.scoring.ops.qrels.lines import DRAFT
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.tables.record import Files
from leaderboard.trec.qrels.judgment_lists import opensearch, quepid
from leaderboard.trec.qrels.packed import left_out_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionPage(ChangedJudgments):
    """One revision, compared with the previous one."""

    access: TaskAccess
    row: RevisionRow
    before: int | None
    after: int | None
    """Numbers of the neighbouring revisions."""
    companions: tuple[tuple[str, Changes], ...]
    """(kind, changes) of companion judgments changed with this revision."""
    measures: tuple[MeasureColumn, ...]
    old_edition: int | None
    new_edition: int | None
    building: BuildingEdition | None


def revision_page(
    session: Session, viewer: Viewer, slug: str, number: int, measure: str | None = None
) -> RevisionPage:
    """One revision of a board's judgments, with rank changes by a measure.

    Raises NotFound for an unknown number, and for any while judgments are hidden; UnknownMeasure for a
    measure that its board does not have.
    """
    task, access, line = _open_line(session, viewer, slug)
    rows = {row.number: row for row in line.rows}
    if number not in rows:
        raise NotFound(f"{task.name} has no revision {number}.")
    revision = _stored(session, line.id, number)
    parent = (
        session.get(QrelsRevision, revision.parent_id, options=files.WHOLE) if revision.parent_id else None
    )
    topic_titles = changed_titles(session, task)
    of_answers = rank_changes.of_answers(session, task, lines.stored(session, revision), topic_titles)
    old, new = _editions(session, task, revision)
    measures = table.fields_columns_of(new) if new is not None else ()
    by = table.chosen(measures, new.primary_measure, measure) if new is not None else None
    ranks, why = _ranks(session, viewer, (task, access), old, new, by)
    on_its_way = building(session, viewer, task)
    return RevisionPage(
        of=task,
        access=access,
        number=number,
        kind=line.kind,
        origin=line.origin,
        origin_name=line.origin_name,
        row=rows[number],
        before=max((other for other in rows if other < number), default=None),
        after=min((other for other in rows if other > number), default=None),
        changes=_changes(session, parent, revision, topic_titles, task.level),
        companions=_companion_changes(session, parent, revision, topic_titles, task.level),
        measures=measures,
        ranks=ranks,
        why_no_ranks=why,
        old_edition=old.number if old is not None else None,
        new_edition=new.number if new is not None else None,
        topics=_topic_means(session, old, new, by, ranks),
        building=on_its_way if on_its_way is not None and on_its_way.revision == number else None,
        of_answers=_without_notes(of_answers, access),
    )


def _without_notes(facts: AnswersFacts | None, access: TaskAccess) -> AnswersFacts | None:
    """The facts for readers, without notes, which name runs of teams that may have pseudonyms."""
    return facts if facts is None or access.organises else replace(facts, notes=())


def revision_id_of(session: Session, viewer: Viewer, slug: str, number: int) -> int:
    """The id of a revision of a board's judgments; raises NotFound as `revision_page`."""
    _, _, line = _open_line(session, viewer, slug)
    return _stored(session, line.id, number).id


def facts(page: RevisionPage) -> dict[str, Any]:
    """The revision as plain values at full precision."""
    return {
        **rank_changes.changed_facts(page),
        "revision": row_facts(page.row),
        "origin": page.origin,
        "origin_name": page.origin_name,
        "before": page.before,
        "beside": {kind: judgment_changes.facts(changes) for kind, changes in page.companions},
        "editions": [page.old_edition, page.new_edition],
        "topics": {topic: [mean.before, mean.after] for topic, mean in page.topics.items()},
    }


FILES = Files(facts=facts, tables=rank_changes.CHANGED_TABLES)


def _open_line(session: Session, viewer: Viewer, slug: str) -> tuple[Task, TaskAccess, Line]:
    """The task and its board's series; raises NotFound without one, or while judgments are hidden."""
    task, access = policy.visible_task(session, viewer, slug)
    if not access.details:
        raise NotFound(f"{access.why} Revisions of judgments are shown when it closes.")
    line = next((line for line in lines_of(session, task) if line.name == MAIN), None)
    if line is None:
        raise NotFound(f"{task.name} has no judgments yet.")
    return task, access, line


def _stored(session: Session, line_id: int, number: int) -> QrelsRevision:
    revision = session.scalar(
        select(QrelsRevision)
        .where(QrelsRevision.qrels_id == line_id, QrelsRevision.number == number)
        .options(*files.WHOLE)
    )
    if revision is None:
        raise NotFound(f"Revision {number} does not exist.")
    return revision


def _changes(
    session: Session,
    before: QrelsRevision | None,
    after: QrelsRevision,
    titles: Mapping[str, str],
    level: int,
) -> Changes:
    old = lines.stored(session, before) if before is not None else None
    new: PreparedQrels = lines.stored(session, after)
    others = lines.distractors_of(before), lines.distractors_of(after)
    leaves = left_out.of_revision(before), left_out.of_revision(after)
    return judgment_changes.changes(old, new, others, titles, level, leaves)


def _companion_changes(
    session: Session,
    before: QrelsRevision | None,
    after: QrelsRevision,
    titles: Mapping[str, str],
    level: int,
) -> tuple[tuple[str, Changes], ...]:
    """Changes in the subtopics and preferences that accompany a revision."""
    old = files.companions(session, before) if before is not None else {}
    changed_kinds = []
    for kind, companion in sorted(files.companions(session, after).items()):
        if old.get(kind) == companion:
            continue
        new = session.get_one(QrelsRevision, companion, options=files.WHOLE)
        parent = session.get(QrelsRevision, old[kind], options=files.WHOLE) if kind in old else None
        changed_kinds.append((kind, _changes(session, parent, new, titles, level)))
    return tuple(changed_kinds)


def _editions(session: Session, task: Task, revision: QrelsRevision) -> tuple[Edition | None, Edition | None]:
    """The last edition shown before the first one under a revision, and that first one."""
    shown = select(Edition).where(
        Edition.task_id == task.id, Edition.shown_from.is_not(None) | (Edition.state == "building")
    )
    new = session.scalar(shown.where(Edition.revision_id == revision.id).order_by(Edition.number).limit(1))
    if new is None:
        return None, None
    old = session.scalar(shown.where(Edition.number < new.number).order_by(Edition.number.desc()).limit(1))
    return old, new


def _ranks(
    session: Session,
    viewer: Viewer,
    seen: tuple[Task, TaskAccess],
    old: Edition | None,
    new: Edition | None,
    by: MeasureColumn | None,
) -> tuple[RankChanges | None, str]:
    if new is None or by is None:
        return None, "The board was never shown under this revision, so it changed no ranks."
    if old is None:
        return None, "This is the first revision of the board, so there are no earlier ranks."
    before, after = (
        {
            run_id: scores[by.key]
            for run_id, scores in means(session, edition, seen[1].topic_set, keys=(by.key,)).items()
            if by.key in scores
        }
        for edition in (old, new)
    )
    if not before:
        return None, f"No run had a score by {by.key} before this revision."
    runs = rank_changes.scored_runs(session, viewer, *seen, before.keys() & after.keys())
    if not runs:
        return None, "No run is scored under this revision yet."
    return rank_changes.rank_changes(runs, before, after, by), ""


def _topic_means(
    session: Session,
    old: Edition | None,
    new: Edition | None,
    by: MeasureColumn | None,
    ranks: RankChanges | None,
) -> dict[str, TopicMeans]:
    """Topic -> mean score of runs with both scores, for topics that count in both."""
    if old is None or new is None or by is None or ranks is None:
        return {}
    ids = [row.run.run_id for row in ranks.rows if row.old is not None and row.new is not None]
    by_edition: list[dict[str, float]] = []
    for edition in (old, new):
        versions = {measure["key"]: measure["version"] for measure in edition.measures}
        whole = source_of(edition, session.get_one(QrelsRevision, edition.revision_id), ALL_TOPICS)
        source = evaluations_shown.narrowed(whole, edition, by.key)
        scores = scores_of(session, source, by.key, versions[by.key], ids)
        if not scores or not source.topics:
            return {}
        mean = np.mean([scores[run_id] for run_id in ids if run_id in scores], axis=0)
        by_edition.append(dict(zip(source.topics, mean.tolist(), strict=True)))
    before, after = by_edition
    return {topic: TopicMeans(before[topic], after[topic]) for topic in before if topic in after}


PARTS = (
    "qrels",
    "quepid",
    "opensearch",
    "subtopics",
    "preferences",
    "distractors",
    "left_out",
    "nuggets",
    "assignments",
    "support",
    "argue",
)
"""Parts of a revision available as files; `qrels` means all answer judgments.

quepid and opensearch: the qrels as lists of other programs.
"""
_KINDS = {"subtopics": "subtopic", "preferences": "preference"}


def of_revision(session: Session, viewer: Viewer, slug: str, number: int, part: str) -> str:
    """A part of the inputs of a revision's scores; raises NotFound for a missing part."""
    revision_id = revision_id_of(session, viewer, slug, number)
    revision = _whole(session, revision_id)
    kind = session.get_one(Qrels, revision.qrels_id).kind
    if kind == "answers":
        return _of_answers(session, viewer, slug, revision, part)
    if part == "qrels":
        return file_text(lines.stored(session, revision))
    if part in ("quepid", "opensearch") and kind in ("graded", "subtopic"):
        task, _ = policy.visible_task(session, viewer, slug)
        judged, titles = lines.stored(session, revision).judgments, lines.titles(session, task.id)
        name = f"{task.name}, revision {number}"
        return quepid(judged, titles) if part == "quepid" else opensearch(judged, titles, name)
    if part == "distractors" and revision.distractors is not None:
        return "".join(f"{docno.decode()}\n" for docno in sorted(lines.distractors_of(revision)))
    if part == "left_out" and revision.left_out is not None:
        return b"".join(left_out_lines(left_out.of_revision(revision).by_topic)).decode()
    companion_id = files.companions(session, revision).get(_KINDS.get(part, ""))
    if companion_id is None:
        raise NotFound(f"Revision {number} has no {part}.")
    return file_text(lines.stored(session, _whole(session, companion_id)))


def _of_answers(session: Session, viewer: Viewer, slug: str, revision: QrelsRevision, part: str) -> str:
    task, access = policy.visible_task(session, viewer, slug)
    return text_of(session, viewer, task, access, scoring.opened(revision.packed), part)


def of_line(session: Session, viewer: Viewer, slug: str, line_id: int, number: int) -> str:
    """A revision of any series; raises NotFound if it does not exist or is hidden."""
    task, access = policy.visible_task(session, viewer, slug)
    revision_id = session.scalar(
        select(QrelsRevision.id)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(
            Qrels.task_id == task.id,
            Qrels.id == line_id,
            Qrels.name.not_like(f"{DRAFT}%"),
            QrelsRevision.number == number,
        )
    )
    if revision_id is None or not access.details:
        raise NotFound(f"{task.name} has no such revision of judgments.")
    revision = _whole(session, revision_id)
    if session.get_one(Qrels, line_id).kind == "answers":
        return _of_answers(session, viewer, slug, revision, "qrels")
    return file_text(lines.stored(session, revision))


def file_text(prepared: PreparedQrels) -> str:
    """Judgments in TREC's four columns; preferences as pairs, or as levels if they name judges.

    The reference of judges is a board file with a heading.
    """
    if prepared.kind == "board":
        return "".join(_board(prepared))
    if prepared.preferences is None:
        rows = sorted((topic, part or "0", docno, grade) for topic, part, docno, grade in prepared.rows)
        return "".join(f"{topic} {part} {docno.decode()} {grade}\n" for topic, part, docno, grade in rows)
    return "".join(_preferences(prepared))


def _board(prepared: PreparedQrels) -> Iterator[str]:
    yield "run\ttopic\tmeasure\tvalue\n"
    for (topic, measure, run), value in prepared.facts.items():
        yield f"{run}\t{topic}\t{measure}\t{value!r}\n"


def _preferences(prepared: PreparedQrels) -> Iterator[str]:
    facts = [(key, weight) for key, weight in sorted(prepared.facts.items())]
    if all(judge == "" for (_, judge, _, _), _ in facts):
        for (topic, _, better, worse), weight in facts:
            yield f"{topic} {better} {worse} {weight:g}\n"
        return
    for group, ((topic, judge, better, worse), _) in enumerate(facts, start=1):
        yield f"{topic} {judge or 'judge'} {group} {better} 1\n{topic} {judge or 'judge'} {group} {worse} 0\n"


def _whole(session: Session, revision_id: int) -> QrelsRevision:
    options = files.WHOLE
    return session.get_one(QrelsRevision, revision_id, options=options)
