"""A whole task as plain files, for one viewer.

All is read at one moment, row by row and piece by piece: a run or a set of judgments is never held whole.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import names
from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops.board import Board
from leaderboard.boards.page import tables
from leaderboard.bundles.ops import checking, describing, members, opening, release
from leaderboard.bundles.ops.describing import BundleHead, BundleWriter
from leaderboard.bundles.ops.found import FoundRun, FoundTask
from leaderboard.bundles.ops.imports import LEFT_OUT
from leaderboard.bundles.ops.members import BundleSource
from leaderboard.bundles.ops.opening import BundleFiles
from leaderboard.bundles.ops.records import FOLDER, TABLES, Record
from leaderboard.bundles.ops.release import PseudonymMap
from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, unlimited
from leaderboard.db.tables import Edition, Evaluation, Phase, QrelsRevision, Run, Task, Team
from leaderboard.errors import Invalid, NotFound
from leaderboard.scoring.ops.evaluations.shown import SCORED, require_whole
from leaderboard.signatures import ops as signatures
from leaderboard.tables.record import Column, Table, cell, columns_from, counted, csv_text
from leaderboard.tasks.ops.citing import FORMS, citation_of
from leaderboard.tasks.ops.drafts import PreparedTask

SCORES, TOPIC_SCORES = "scores/", "scores/topics.csv"
SCORES_AT_ONCE = 16
"""Runs and measures whose scores are in memory at once."""
Target = AbstractContextManager[BundleWriter]


def export(
    database: Database, viewer: Viewer, slug: str, target: Target, *, site: str = "", is_release: bool = False
) -> PseudonymMap | None:
    """Write the whole task; of a release, the map that leads from its pseudonyms back.

    For its organisers and the operator, as all is in it. Raises NotFound, SignInNeeded or Forbidden before
    the target is opened, and Damaged where stored data is corrupt.
    """
    with _one_moment(database) as session:
        task = policy.own_task(session, viewer, slug)
        by = release.draw(session, task) if is_release else None
        with target as writer:
            _write(BundleSource(database, session, task, by, viewer=viewer), viewer, writer, site)
    return by


def export_public(database: Database, slug: str, target: Target, *, site: str = "") -> None:
    """Write what every visitor reads of a task, anyone who asks for it.

    Raises NotFound before the target is opened: for a draft, and while part of it is hidden.
    """
    with _one_moment(database) as session:
        task, access = policy.visible_task(session, ANONYMOUS, slug)
        if not access.details:
            raise NotFound(f"{access.why} You can download {task.name} once all of it is public.")
        view = release.view(session, task)
        with target as writer:
            _write(BundleSource(database, session, task, view=view), ANONYMOUS, writer, site)


@contextmanager
def _one_moment(database: Database) -> Iterator[Session]:
    """A session that reads a snapshot of the database, however long it takes."""
    with database.read() as session:
        if not database.is_sqlite:
            unlimited(session.connection(execution_options={"isolation_level": "REPEATABLE READ"}))
        yield session


def recomputed(database: Database, slug: str, *, is_public: bool) -> dict[str, bytes]:
    """The scores of a bundle as this site computes them, path -> bytes, of a task that came of the bundle."""
    scores_only = _ScoresOnly()
    with _one_moment(database) as session:
        viewer = ANONYMOUS if is_public else OPERATOR
        task, _ = policy.visible_task(session, viewer, slug)
        view = release.view(session, task) if is_public else None
        source = BundleSource(database, session, task, view=view, viewer=viewer)
        members.write(source, scores_only)
        _write_scores(source, viewer, scores_only)
    return scores_only.kept


class _ScoresOnly(BundleWriter):
    """Keeps the scores; of all else only the records are made, as these give the runs their numbers."""

    def __init__(self) -> None:
        super().__init__(self)
        self.kept: dict[str, bytes] = {}

    def add(self, path: str, pieces: Iterable[bytes]) -> None:
        """Keep a member of the scores."""
        if path.startswith((FOLDER, SCORES)):
            super().add(path, pieces)

    def put(self, path: str, pieces: Iterable[bytes]) -> None:
        """Hold the bytes of a member of the scores."""
        body = b"".join(pieces)
        if path.startswith(SCORES):
            self.kept[path] = body


def _write(source: BundleSource, viewer: Viewer, target: BundleWriter, site: str) -> None:
    # Only public data is signed.
    sign = signatures.signer(source.session) if source.view is not None else None
    target.sign = partial(sign, "bundle") if sign is not None else None
    members.write(source, target)
    _write_scores(source, viewer, target)
    cited = citation_of(source.task, site)
    if source.by is not None:
        hides = source.by.hides
        cited = replace(
            cited, title=hides(cited.title), organisers="", licence=hides(cited.licence),
            description=hides(cited.description), address="",
        )  # fmt: skip
    for name, _, written in FORMS.values():
        target.text(name, written(cited))
    head = BundleHead(
        citation=cited,
        made_at=datetime.now(UTC).isoformat(timespec="seconds") if source.view is None else "",
        is_release=source.by is not None,
        is_public=source.view is not None,
        is_signed=target.sign is not None,
    )
    target.text(describing.HEAD, head.text())
    target.text(describing.README, describing.readme(head, target.sums))
    target.text(describing.CRATE, describing.crate(head, target.sums, target.sizes))


def _write_scores(source: BundleSource, viewer: Viewer, target: BundleWriter) -> None:
    """The board of each phase, and the scores by topic that all of them rest on."""
    query = select(Phase.name).where(Phase.task_id == source.task.id).order_by(Phase.position, Phase.id)
    phases = source.session.scalars(query).all()
    for number, phase in enumerate(phases, start=1):
        ending = "" if len(phases) == 1 else f"-{number}"
        shown = boards.board(source.session, replace(viewer, phase=phase), source.task.slug)
        shown = shown if source.by is None else _renamed(shown, source.by)
        facts = tables.board_facts(shown)
        for row in facts["rows"]:
            # Its id on the site is meaningless elsewhere, and would reveal the name behind a pseudonym.
            row["id"] = source.numbers["run"].get(row.pop("run_id"))
        target.text(f"{SCORES}board{ending}.json", json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
        table = tables.board_table(shown)
        elsewhere = [column for column in table.columns if column.key != "run_id"]
        target.text(f"{SCORES}board{ending}.csv", csv_text(replace(table, columns=elsewhere)))
    target.add(TOPIC_SCORES, _scores_by_topic(source))


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
    for row in rows:
        require_whole(row)
        name, run_id, _, measure, version, _, _, scores, _ = row
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


MOST_NAMED = 5
"""Files that are named of those left out for one reason."""
_TABLES = {table.name: table for table in TABLES}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstoodTask:
    """Preview of a task import: facts as text, runs, omitted files and findings to confirm."""

    is_export: bool
    name: str
    slug: str
    facts: tuple[tuple[str, str], ...]
    runs: tuple[FoundRun, ...]
    left_out: tuple[tuple[str, str], ...]
    """Why, and which files or rows."""
    doubts: tuple[str, ...]
    """Findings to check before confirming."""


def of_folder(detected: FoundTask, task: PreparedTask) -> UnderstoodTask:
    """A folder of topics, judgments and runs that no export wrote."""
    source = detected.topics_path or "the qrels file, without titles"
    unknown = len(set(detected.judged) - set(detected.topics))
    stray = f"; {unknown:,} of these are not in the topics file" if unknown else ""
    judged = f"{detected.judgments:,} of {len(detected.judged):,} topics, from {detected.qrels_path}{stray}"
    return UnderstoodTask(
        is_export=False,
        name=task.draft.name,
        slug=task.draft.slug,
        facts=(
            ("Topics", f"{len(detected.topics):,}, from {source}"),
            (
                "Judgments",
                judged if detected.qrels_path else "none yet; runs are scored once there are judgments",
            ),
            ("Runs", f"{len(detected.runs):,}, at most {detected.depth:,} documents per topic"),
            *((("Teams", f"from {detected.list_path}"),) if detected.list_path else ()),
            ("Measures", f"{', '.join(task.measures)}; ranked by {task.primary}"),
            *(("How it was read", note) for note in detected.read_as),
        ),
        runs=detected.runs,
        left_out=_by_reason(detected.left_out.items()),
        doubts=detected.doubts,
    )


def of_export(session: Session, viewer: Viewer, files: BundleFiles, slug: str = "") -> UnderstoodTask:
    """A task that an export wrote; its digests are compared first. slug: the one requested, '' its own.

    Raises Invalid where it is not whole, or not a task.
    """
    policy.require_creator(viewer)
    opening.require_whole(files)
    task = next(iter(_rows(files, "task")), None)
    if task is None:
        raise Invalid("The bundle has no record of the task. Download the bundle again.")
    teams = {row["id"]: str(row.get("name", "")) for row in _rows(files, "teams")}
    existing = _known_teams(session, teams.values())
    doubts = (
        [f"Runs of {', '.join(existing)} are added to the existing teams with these names."]
        if existing
        else []
    )
    doubts += [*_unscored(session, viewer, files), *checking.left_behind(files)]
    counts = {
        name: sum(1 for _ in _rows(files, name)) for name in ("topics", "revisions", "phases", *LEFT_OUT)
    }
    left_out = (
        [] if viewer.is_operator or viewer.operates else [
            (what, f"{counts[name]:,}") for name, what in LEFT_OUT.items() if _is_lost(name, counts[name])
        ]
    )  # fmt: skip
    return UnderstoodTask(
        is_export=True,
        name=str(task.get("name", "")),
        slug=slug or str(task.get("slug", "")),
        facts=(
            ("Topics", f"{counts['topics']:,}"),
            ("Judgments", f"{counts['revisions']:,} revisions"),
            ("Phases", f"{counts['phases']:,}"),
            ("Teams", ", ".join(teams.values()) or "none"),
            (
                "Shown",
                "publicly, immediately" if task.get("published_at") else "as a draft, visible to you only",
            ),
        ),
        runs=tuple(_run(row, teams) for row in _rows(files, "runs")),
        left_out=tuple(left_out),
        doubts=tuple(doubts),
    )


def _unscored(session: Session, viewer: Viewer, files: BundleFiles) -> list[str]:
    """A sentence on judge labels that cannot be scored on this site; empty if all can."""
    boards = [row for row in _rows(files, "runs") if row.get("boards")]
    newest = max(_rows(files, "revisions"), key=lambda row: row["id"], default=None)
    if not boards or newest is None:
        return []
    from leaderboard.judges.ops import imported as of_judges

    file = of_judges.BundleText(str(newest.get("file")), files.file(newest.get("file")))
    if of_judges.is_here(session, viewer, file):
        return []
    named = ", ".join(str(row.get("name", "")) for row in boards[:MOST_NAMED])
    is_believed = viewer.is_operator or viewer.operates
    fate = (
        "their imported leaderboards are used unchanged"
        if is_believed
        else "these judges are unranked until the task of the reference is on this site and selected again"
    )
    return [
        f"Labels of {counted(len(boards), 'judge')} ({named}) cannot be scored here, because the runs of "
        f"the reference are not on this site: {fate}."
    ]


def understood_table(page: UnderstoodTask) -> Table[FoundRun]:
    """The runs that the task will have."""
    columns = columns_from(
        FoundRun,
        Column("run", lambda row: row.name, "Run"),
        "team kind topics",
        Column("file", lambda row: row.path, "File"),
    )
    return Table("runs", "Runs", columns, page.runs)


def _is_lost(name: str, count: int) -> bool:
    """Whether rows of a table are missed: the newest edition is built again."""
    return count > (1 if name == "editions" else 0)


def _rows(files: BundleFiles, name: str) -> Iterable[Record]:
    return (record for _, record in checking.read(files, _TABLES[name]))


def _run(row: Record, teams: dict[int, str]) -> FoundRun:
    team, topics = row.get("team_id"), row.get("topics")
    return FoundRun(
        name=str(row.get("name", "")),
        team=teams.get(team, "") if isinstance(team, int) else "",
        kind=str(row.get("kind", "")),
        topics=topics if isinstance(topics, int) else 0,
        path=str(row.get("file", "")),
    )


def _known_teams(session: Session, given: Iterable[str]) -> list[str]:
    """The names that teams of the site have already."""
    canonical = {names.canonical(name): name for name in given}
    existing = session.scalars(select(Team.canonical).where(Team.canonical.in_(canonical)))
    return sorted(canonical[each] for each in existing if each is not None)


def _by_reason(left_out: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Why files were left out, each reason with the files that it holds for."""
    reasons: dict[str, list[str]] = {}
    for path, why in left_out:
        reasons.setdefault(why, []).append(path)
    return tuple(
        (
            why,
            ", ".join(paths[:MOST_NAMED])
            + (f" and {len(paths) - MOST_NAMED:,} more" * (len(paths) > MOST_NAMED)),
        )
        for why, paths in reasons.items()
    )
