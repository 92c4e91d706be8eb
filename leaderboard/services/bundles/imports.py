"""A task made again of a bundle: all of it in one transaction, then its runs are scored anew.

Scores are not read from the bundle: they are computed of its runs and judgments, so they are what these give.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Qrels, QrelsRevision, Run, Task, Team, Topic, Upload
from leaderboard.errors import Invalid
from leaderboard.measures.grammar import parse
from leaderboard.services import audit, collections, policy
from leaderboard.services.accounts import teams
from leaderboard.services.bundles import checking, judgments
from leaderboard.services.bundles.checking import broken
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.bundles.records import NUMBERED, TABLES, Numbers, Record, RecordTable
from leaderboard.services.jobs import queue
from leaderboard.services.policy import Viewer
from leaderboard.services.pseudonyms.pseudonyms import SEED_BYTES
from leaderboard.services.runs import facts, prepare, uploads
from leaderboard.services.runs.admission import UploadRules
from leaderboard.services.tasks import slugs
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.check import Rules
from leaderboard.trec.runs.reports import Report

ROWS_AT_ONCE = 500
DONE = frozenset({"current", "building"})
"""States of editions that every run has to be scored for."""

Progress = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is made of a bundle: under which slug ('' is its own), and names in the place of pseudonyms."""

    slug: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """Pseudonym of a team or run -> its name."""
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTask:
    """The task that was made; jobs is how many evaluations are queued."""

    slug: str
    teams_known: tuple[str, ...]
    """Teams that the site had already: their members have these runs now."""
    teams_new: tuple[str, ...]
    runs: int
    revisions: int
    jobs: int


@dataclass(slots=True, eq=False, kw_only=True)
class _Making:
    """A task on its way in: ids has, for each table, the id of each number of the bundle."""

    session: Session
    viewer: Viewer
    files: BundleFiles
    request: ImportRequest
    progress: Progress
    ids: Numbers = field(default_factory=lambda: {name: {} for name in NUMBERED})
    task: Task | None = None
    known: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    parents: dict[int, QrelsRevision] = field(default_factory=dict)
    """Line -> its newest revision so far."""
    sent: dict[int, tuple[int, Record]] = field(default_factory=dict)
    """Number of an upload -> its line and record, until its run is stored."""
    topics: tuple[str, ...] = ()
    jobs: int = 0

    @property
    def owner(self) -> Task:
        """The task that all belongs to."""
        if self.task is None:
            raise Invalid("The bundle has no record of the task itself. Get the bundle anew.")
        return self.task


def bring_in(
    session: Session,
    viewer: Viewer,
    files: BundleFiles,
    request: ImportRequest,
    progress: Progress = lambda _: None,
) -> ImportedTask:
    """Store the task of a bundle whose digests were checked, and queue the scoring of its runs.

    For the operator: teams are found by name, and dates are taken as they are. Raises Conflict where the slug
    is taken, Invalid with file, line and rule for anything that cannot be stored; the caller's transaction
    then holds nothing.
    """
    policy.require_operator(viewer)
    making = _Making(session=session, viewer=viewer, files=files, request=request, progress=progress)
    for table in TABLES:
        progress(table.name)
        _ROADS.get(table.name, _add_all)(making, table)
        session.flush()
    task = making.owner
    audit.record(
        session, viewer, "task.import", f"task:{task.id}", slug=task.slug, runs=len(making.ids["run"])
    )
    return ImportedTask(
        slug=task.slug,
        teams_known=tuple(making.known),
        teams_new=tuple(making.new),
        runs=len(making.ids["run"]),
        revisions=len(making.ids["qrels_revision"]),
        jobs=making.jobs,
    )


def _add_all(making: _Making, table: RecordTable) -> None:
    """Store the records of a table as they are."""
    waiting: list[tuple[int, dict[str, Any]]] = []
    for line, record in checking.read(making.files, table):
        waiting.append((record.get("id", line), _values(making, table, line, record)))
        if len(waiting) == ROWS_AT_ONCE:
            _store(making, table, waiting)
            waiting = []
    _store(making, table, waiting)


def _store(making: _Making, table: RecordTable, rows: list[tuple[int, dict[str, Any]]]) -> None:
    if not rows:
        return
    name = table.model.__tablename__
    if name not in NUMBERED:
        making.session.execute(insert(table.model), [values for _, values in rows])
        return
    made: list[Any] = [table.model(**values) for _, values in rows]
    making.session.add_all(made)
    making.session.flush()
    for (number, _), row in zip(rows, made, strict=True):
        making.ids[name][number] = row.id


def _values(making: _Making, table: RecordTable, line: int, record: Record) -> dict[str, Any]:
    values = checking.values(table, line, record, making.ids)
    if "task_id" in table.model.metadata.tables[table.model.__tablename__].columns:
        values["task_id"] = making.owner.id
    return values


def _add_task(making: _Making, table: RecordTable) -> None:
    for line, record in checking.read(making.files, table):
        values = checking.values(table, line, record, making.ids)
        slug = values["slug"] = making.request.slug or values["slug"]
        if making.task is not None or not slugs.is_slug(slug):
            raise broken(table.path, line, slugs.RULE, "slug", slug)
        slugs.hold(making.session, slug)
        slugs.require_free(making.session, making.viewer, slug)
        # Teams that enter later are drawn by a secret that this site alone knows.
        seed = secrets.token_hex(SEED_BYTES) if values.get("pseudonym_list") else ""
        of = _collection(making, table, line, record)
        making.task = Task(**values, collection_id=of, pseudonym_seed=seed)
        making.session.add(making.task)
        making.session.flush()
    making.owner  # noqa: B018 (raises where there is none)


def _collection(making: _Making, table: RecordTable, line: int, record: Record) -> int:
    """The site's collection of that name and size, else a new one, under another name where that is taken."""
    given = record.get("collection")
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise broken(table.path, line, "says which collection the task is on.", "collection")
    name, size, link = given["name"], given.get("size"), given.get("link_template") or ""
    known = {row.name: row for row in collections.choices(making.session, making.viewer)}
    if name in known and known[name].size == size:
        return known[name].id
    number = 1
    wanted = name
    while wanted in known:
        number += 1
        wanted = f"{name[:90]} ({number})"
    return collections.add(making.session, making.viewer, wanted, size=size, link_template=link).id


def _add_topics(making: _Making, table: RecordTable) -> None:
    _add_all(making, table)
    wanted = select(Topic.topic_id).where(Topic.task_id == making.owner.id).order_by(Topic.position)
    making.topics = tuple(making.session.scalars(wanted))


def _add_teams(making: _Making, table: RecordTable) -> None:
    for line, record in checking.read(making.files, table):
        values = checking.values(table, line, record, making.ids)
        name = making.request.names.get(values.pop("name"), record["name"])
        before = making.session.scalar(select(Team.id).order_by(Team.id.desc()).limit(1)) or 0
        team_id = teams.ensure(making.session, making.viewer, name)
        making.ids["team"][record["id"]] = team_id
        if team_id > before:
            team = making.session.get_one(Team, team_id)
            for key, value in values.items():
                setattr(team, key, value)
        (making.new if team_id > before else making.known).append(name)


def _add_revisions(making: _Making, table: RecordTable) -> None:
    for line, record in checking.read(making.files, table):
        values = checking.values(table, line, record, making.ids)
        of = making.session.get_one(Qrels, values["qrels_id"])
        others = record.get("distractors")
        paths = (making.files.file(record.get("file")), making.files.file(others) if others else None)
        made = judgments.add_revision(
            making.session, making.viewer, of, making.parents.get(of.id), values, paths
        )
        making.parents[of.id] = made
        making.ids["qrels_revision"][record["id"]] = made.id
        making.progress(str(record.get("file")))


def _note_uploads(making: _Making, table: RecordTable) -> None:
    """Keep in mind what came with each run's file, to be stored with the run."""
    for line, record in checking.read(making.files, table):
        making.sent[record["id"]] = (line, record)
        # Its row is made with the run: until then the number stands for itself.
        making.ids["upload"][record["id"]] = record["id"]


def _add_runs(making: _Making, table: RecordTable) -> None:
    sent_table = next(each for each in TABLES if each.name == "uploads")
    for line, record in checking.read(making.files, table):
        values = _values(making, table, line, record)
        if values["upload_id"] not in making.sent:
            raise broken(table.path, line, "is the file of another run already.", "upload_id")
        sent_line, sent = making.sent.pop(values["upload_id"])
        about = _values(making, sent_table, sent_line, sent)
        values["name"] = making.request.names.get(values["name"], values["name"])
        making.ids["run"][record["id"]] = _add_run(
            making, (table.path, line), record.get("file"), about, values
        )
        making.progress(str(record.get("file")))


def _add_run(
    making: _Making, place: tuple[str, int], member: object, about: dict[str, Any], values: dict[str, Any]
) -> int:
    """Store a run with its file, whose rankings must be those on record; its id."""
    rules = UploadRules(making.owner.id, Rules(topics=making.topics, depth=None), is_blind=False)
    made = prepare.prepare(making.files.file(member), about["file_name"], rules, making.request.limits)
    if made.run is None:
        raise Invalid(f"{member} is not accepted. Get the bundle anew.", made.report.problems)
    if made.run.digest != values["ranking_sha256"]:
        raise broken(*place, "is not the digest of the rankings in its file.", "ranking_sha256")
    if about["sha256"] not in ("", made.sha256):
        raise broken(*place, "The file is not the one that was sent, by its digest.", "sha256")
    report = about.get("report") or made.report.as_json()
    Report.from_json(report)
    about |= {"sha256": made.sha256, "bytes": made.size, "report": report}
    upload = Upload(**about)
    making.session.add(upload)
    making.session.flush()
    uploads.add_pieces(making.session, upload.id, made.chunks())
    values |= {
        "upload_id": upload.id,
        "sketch": made.run.sketch,
        "details": facts.stored(made.run.details, facts.form_of(values["details"])),
        "order_differs": made.run.order_differs,
    }
    run = Run(**values)
    making.session.add(run)
    making.session.flush()
    uploads.add_rankings(making.session, run.id, made.run)
    return run.id


def _add_editions(making: _Making, table: RecordTable) -> None:
    for line, record in checking.read(making.files, table):
        edition = Edition(**_values(making, table, line, record))
        _require_versions(making, table, line, edition)
        making.session.add(edition)
        making.session.flush()
        scored = record.get("scored")
        if not isinstance(scored, list) or not set(scored) <= making.ids["run"].keys():
            raise broken(table.path, line, "must be runs of the bundle.", "scored")
        making.jobs += _queue(making, edition, [making.ids["run"][each] for each in scored])


def _require_versions(making: _Making, table: RecordTable, line: int, edition: Edition) -> None:
    """Raise Invalid where this program computes a measure otherwise than the bundle's board did."""
    for measure in edition.measures:
        key, version = measure.get("key"), measure.get("version")
        ours = parse(str(key)).measure.version
        if ours != version and edition.state in DONE:
            rule = (
                f"is in version {ours} here and in version {version} on the board: its scores would differ."
            )
            raise broken(table.path, line, rule, "measures", key)


def _queue(making: _Making, edition: Edition, scored: list[int]) -> int:
    """Queue the scoring of the runs that had scores in the edition, and of all that are to have some."""
    wanted = set(scored)
    if any(parse(each["key"]).measure.version != each["version"] for each in edition.measures):
        # An edition of the past by another version stays without scores: ours would pass for its.
        return 0
    if edition.state in DONE:
        there = select(Run.id).where(Run.task_id == making.owner.id, Run.withdrawn_at.is_(None))
        wanted |= set(making.session.scalars(there))
    queue.enqueue_new(
        making.session, queue.EVALUATE, sorted(wanted), priority=queue.AGAIN, edition_id=edition.id
    )
    return len(wanted)


def _add_pools(making: _Making, table: RecordTable) -> None:
    _add_all(making, table)
    for _, record in checking.read(making.files, table):
        path = making.files.file(record.get("file"))
        judgments.add_pool(making.session, making.ids["pool"][record["id"]], str(record["file"]), path)


_ROADS: dict[str, Callable[[_Making, RecordTable], None]] = {
    "task": _add_task,
    "topics": _add_topics,
    "teams": _add_teams,
    "revisions": _add_revisions,
    "uploads": _note_uploads,
    "runs": _add_runs,
    "editions": _add_editions,
    "pools": _add_pools,
}
"""Tables whose rows are more than their record."""
