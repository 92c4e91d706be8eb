"""Writing a bundle: the task's own files, the board that is shown, and what describes them.

All is read at one moment, row by row and piece by piece: a run or a set of judgments is never held whole.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Evaluation, Phase, QrelsRevision, Run, Task
from leaderboard.errors import NotFound
from leaderboard.pages.boards import tables
from leaderboard.pages.bundles.citation import citation_of
from leaderboard.services import policy
from leaderboard.services.backups.backups import unlimited
from leaderboard.services.boards import board as boards
from leaderboard.services.boards.board import Board
from leaderboard.services.bundles import describing, members, public, release
from leaderboard.services.bundles.citations import FORMS
from leaderboard.services.bundles.describing import BundleHead
from leaderboard.services.bundles.members import BundleSource
from leaderboard.services.bundles.release import PseudonymMap
from leaderboard.services.bundles.writing import BundleWriter
from leaderboard.services.evaluations.damaged import SCORED, require_whole
from leaderboard.services.policy import ANONYMOUS, Viewer
from leaderboard.tables.text import cell, csv_text

SCORES_AT_ONCE = 16
"""Runs and measures whose scores are held at once."""
Target = AbstractContextManager[BundleWriter]


def export(
    database: Database, viewer: Viewer, slug: str, target: Target, *, site: str = "", is_release: bool = False
) -> PseudonymMap | None:
    """Write the whole task; of a release, the map that leads from its pseudonyms back.

    For its organisers and the operator, as all is in it. Raises NotFound, SignInNeeded or Forbidden before
    the target is opened, and Damaged where what is stored is not what was written.
    """
    with _one_moment(database) as session:
        task = policy.own_task(session, viewer, slug)
        by = release.draw(session, task) if is_release else None
        with target as made:
            _write(BundleSource(database, session, task, by, viewer=viewer), viewer, made, site)
    return by


def export_public(database: Database, slug: str, target: Target, *, site: str = "") -> None:
    """Write what every visitor reads of a task, whoever asks for it.

    Raises NotFound before the target is opened: for a draft, and while something is held back.
    """
    with _one_moment(database) as session:
        task, sight = policy.visible_task(session, ANONYMOUS, slug)
        if not sight.details:
            raise NotFound(f"{sight.why} The whole of {task.name} can be had when all of it is shown.")
        view = public.view(session, task)
        with target as made:
            _write(BundleSource(database, session, task, view=view), ANONYMOUS, made, site)


@contextmanager
def _one_moment(database: Database) -> Iterator[Session]:
    """A session that reads the database as it is now, whatever is stored meanwhile, however long it takes."""
    with database.read() as session:
        if not database.is_sqlite:
            unlimited(session.connection(execution_options={"isolation_level": "REPEATABLE READ"}))
        yield session


def _write(source: BundleSource, viewer: Viewer, made: BundleWriter, site: str) -> None:
    members.write(source, made)
    _write_scores(source, viewer, made)
    cited = citation_of(source.task, site)
    if source.by is not None:
        hides = source.by.hides
        cited = replace(
            cited, title=hides(cited.title), organisers="", licence=hides(cited.licence),
            description=hides(cited.description), address="",
        )  # fmt: skip
    for name, _, written in FORMS.values():
        made.text(name, written(cited))
    head = BundleHead(
        citation=cited,
        made_at=datetime.now(UTC).isoformat(timespec="seconds") if source.view is None else "",
        is_release=source.by is not None,
        is_public=source.view is not None,
    )
    made.text(describing.HEAD, head.text())
    made.text(describing.README, describing.readme(head, made.sums))
    made.text(describing.CRATE, describing.crate(head, made.sums, made.sizes))


def _write_scores(source: BundleSource, viewer: Viewer, made: BundleWriter) -> None:
    """The board of each phase, and the scores by topic that all of them rest on."""
    wanted = select(Phase.name).where(Phase.task_id == source.task.id).order_by(Phase.position, Phase.id)
    phases = source.session.scalars(wanted).all()
    for number, phase in enumerate(phases, start=1):
        ending = "" if len(phases) == 1 else f"-{number}"
        shown = boards.board(source.session, replace(viewer, phase=phase), source.task.slug)
        shown = shown if source.by is None else _renamed(shown, source.by)
        facts = tables.board_facts(shown)
        for row in facts["rows"]:
            # Its id on the site means nothing elsewhere, and would lead from a pseudonym to a name.
            row["id"] = source.numbers["run"].get(row.pop("run_id"))
        made.text(f"scores/board{ending}.json", json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
        table = tables.board_table(shown)
        elsewhere = [column for column in table.columns if column.key != "run_id"]
        made.text(f"scores/board{ending}.csv", csv_text(replace(table, columns=elsewhere)))
    made.add("scores/topics.csv", _scores_by_topic(source))


def _renamed(shown: Board, by: PseudonymMap) -> Board:
    rows = tuple(
        replace(
            row,
            run=by.runs[row.run_id],
            team=by.teams[row.team_id],
            tag=by.runs[row.run_id],
            description="",
            details="",
        )
        for row in shown.rows
    )
    return replace(
        shown,
        rows=rows,
        # A task as others are to know it, which is never stored.
        of=Task(slug=shown.slug, name=by.hides(shown.task), comparison=shown.of.comparison),
        sentences=tuple(by.hides(sentence) for sentence in shown.sentences),
    )


def _scores_by_topic(source: BundleSource) -> Iterator[bytes]:
    """Run, its id in the bundle, measure, topic and score at full precision, of the current edition."""
    yield b"run,id,measure,topic,score\r\n"
    session = source.session
    current = select(Edition).where(Edition.task_id == source.task.id, Edition.state == "current")
    edition = session.scalar(current)
    if edition is None:
        return
    topics = session.scalars(
        select(QrelsRevision.topics).where(QrelsRevision.id == edition.revision_id)
    ).one()
    versions = {measure["key"]: measure["version"] for measure in edition.measures}
    rows = session.execute(
        select(Run.name, *SCORED)
        .join(Run, Run.id == Evaluation.run_id)
        .where(
            Evaluation.revision_id == edition.revision_id,
            Evaluation.dialect == edition.dialect,
            Evaluation.measure.in_(versions),
        )
        .order_by(Run.id, Evaluation.measure)
        .execution_options(yield_per=SCORES_AT_ONCE)
    )
    for name, *row in rows:
        run_id, _, measure, version, _, _, scores, _ = row
        require_whole(row)
        number = source.numbers["run"].get(run_id)
        if versions[measure] == version and number is not None:
            head = (members.pseudonym(source, run_id) or name, number)
            yield _csv(
                (*head, measure, topic, score) for topic, score in zip(topics, scores.tolist(), strict=True)
            )


def _csv(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([*map(cell, row)] for row in rows)
    return text.getvalue().encode()
