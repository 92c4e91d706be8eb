"""A task made again of a bundle: all of it in one transaction, then its runs are scored anew.

Scores are not read from the bundle: they are computed of its runs and judgments, so they are what these give.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.db.tables import Qrels, Task, Team, Topic
from leaderboard.errors import Invalid
from leaderboard.services import audit, collections, policy
from leaderboard.services.accounts import teams
from leaderboard.services.backups.backups import unlimited
from leaderboard.services.bundles import checking, import_runs, judgments, showing
from leaderboard.services.bundles.checking import broken
from leaderboard.services.bundles.importing import (
    NOT_BELIEVED,
    ImportRequest,
    Progress,
    TaskImport,
    add_all,
    make_own,
)
from leaderboard.services.bundles.judgments import RevisionFiles
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.bundles.records import FOLDER, NUMBERED, TABLES, Numbers, Record, RecordTable
from leaderboard.services.policy import Viewer
from leaderboard.services.pseudonyms.pseudonyms import SEED_BYTES
from leaderboard.services.tasks import filed, slugs

REMEDY = "Get the bundle again; nothing was stored."


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTask:
    """The task that was made; jobs is how many evaluations are queued."""

    slug: str
    teams_known: tuple[str, ...]
    """Teams that the site had already: their members are told of these runs."""
    teams_new: tuple[str, ...]
    runs: int
    revisions: int
    jobs: int
    unscored: int = 0
    """Judges whose labels cannot be scored here: the runs of their reference are on another site."""
    left_behind: tuple[str, ...] = ()
    """What the bundle, of an earlier version, asks for that there is no more, in sentences."""


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
    # A large run takes longer to be packed than a page's transaction may wait.
    unlimited(session.connection())
    making = TaskImport(session=session, viewer=viewer, files=files, request=request, progress=progress)
    store(making, TABLES)
    if making.owner.published_at is not None:
        filed.tell_all(session, making.owner)
    return imported(making)


def store(making: TaskImport, tables: Iterable[RecordTable]) -> None:
    """Store the records of some tables, each by its road, once every record of all was looked at."""
    tables = tuple(tables)
    with _named(making):
        _require_records(making, tables)
    for table in tables:
        making.progress(table.name)
        making.place = table.path
        with _named(making):
            _ROADS.get(table.name, add_all)(making, table)
            making.session.flush()


def _require_records(making: TaskImport, tables: Iterable[RecordTable]) -> None:
    """Raise Invalid for the first record that breaks a rule of its own: nothing is written by then."""
    ids: Numbers = {name: {} for name in NUMBERED}
    for table in tables:
        for line, record in making.read(table):
            checking.values(table, line, record, ids)
            if (own := ids.get(table.model.__tablename__)) is not None:
                own[record["id"]] = record["id"]


@contextmanager
def _named(making: TaskImport) -> Iterator[None]:
    """Name the record where something is refused, also by what relies on its form."""
    try:
        yield
    except IntegrityError as error:
        raise Invalid(f"{making.place}: contradicts another record. {REMEDY}") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise Invalid(f"{making.place}: does not have the form of this file: {error!r}. {REMEDY}") from error
    except Invalid as error:
        if error.message.startswith(FOLDER):
            raise
        raise Invalid(f"{making.place}: {error.message}", error.problems) from error


def imported(making: TaskImport) -> ImportedTask:
    """What was made, which is put on record."""
    task, runs = making.owner, len(making.ids["run"])
    audit.record(making.session, making.viewer, "task.import", f"task:{task.id}", slug=task.slug, runs=runs)
    return ImportedTask(
        slug=task.slug,
        teams_known=tuple(making.known),
        teams_new=tuple(making.new),
        runs=runs,
        revisions=len(making.ids["qrels_revision"]),
        jobs=making.jobs,
        unscored=len(making.unscored),
        left_behind=tuple(checking.left_behind(making.files)),
    )


def _add_task(making: TaskImport, table: RecordTable) -> None:
    for line, record in making.read(table):
        values = checking.values(table, line, record, making.ids)
        slug = values["slug"] = making.request.slug or values["slug"]
        if making.task is not None or not slugs.is_slug(slug):
            raise broken(table.path, line, slugs.RULE, "slug", slug)
        slugs.hold(making.session, slug)
        slugs.require_free(making.session, making.viewer, slug)
        # Teams that enter later are drawn by a secret that this site alone knows.
        making.was_published = values.get("published_at") is not None
        values |= {} if making.is_trusted else NOT_BELIEVED[table.name]
        seed = secrets.token_hex(SEED_BYTES) if values.get("pseudonym_list") else ""
        of = _collection(making, table, line, record)
        making.task = Task(**values, collection_id=of, pseudonym_seed=seed)
        making.session.add(making.task)
        making.session.flush()
        make_own(making)
    making.owner  # noqa: B018 (raises where there is none)


def _collection(making: TaskImport, table: RecordTable, line: int, record: Record) -> int:
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


def _add_topics(making: TaskImport, table: RecordTable) -> None:
    add_all(making, table)
    wanted = select(Topic.topic_id).where(Topic.task_id == making.owner.id).order_by(Topic.position)
    making.topics = tuple(making.session.scalars(wanted))


def _add_teams(making: TaskImport, table: RecordTable) -> None:
    for line, record in making.read(table):
        values = checking.values(table, line, record, making.ids)
        name = making.request.names.get(values.pop("name"), record["name"])
        before = making.session.scalar(select(Team.id).order_by(Team.id.desc()).limit(1)) or 0
        team_id = teams.ensure(making.session, making.viewer, name, making.owner.id)
        making.ids["team"][record["id"]] = team_id
        if team_id > before:
            team = making.session.get_one(Team, team_id)
            for key, value in values.items():
                setattr(team, key, value)
        (making.new if team_id > before else making.known).append(name)


def _add_revisions(making: TaskImport, table: RecordTable) -> None:
    for line, record in making.read(table):
        values = checking.values(table, line, record, making.ids)
        of = making.session.get_one(Qrels, values["qrels_id"])
        if (of.kind == "board") != (making.owner.kind == "judges"):
            raise broken(table.path, line, f"is of judgments that a task of {making.owner.kind} cannot have.")
        others, gone = record.get("distractors"), record.get("left_out")
        paths = RevisionFiles(
            str(record.get("file")),
            making.files.file(record.get("file")),
            making.files.file(others) if others else None,
            making.files.file(gone) if gone else None,
        )
        made = judgments.add_revision(making, of, making.parents.get(of.id), values, paths)
        making.parents[of.id] = made
        making.ids["qrels_revision"][record["id"]] = made.id
        making.progress(str(record.get("file")))


def _note_uploads(making: TaskImport, table: RecordTable) -> None:
    """Keep in mind what came with each run's file, to be stored with the run."""
    for line, record in making.read(table):
        making.sent[record["id"]] = (line, record)
        # Its row is made with the run: until then the number stands for itself.
        making.ids["upload"][record["id"]] = record["id"]


def _add_pools(making: TaskImport, table: RecordTable) -> None:
    add_all(making, table)
    for _, record in making.read(table):
        path = making.files.file(record.get("file"))
        judgments.add_pool(making.session, making.ids["pool"][record["id"]], str(record["file"]), path)


_ROADS: dict[str, Callable[[TaskImport, RecordTable], None]] = {
    "task": _add_task,
    "topics": _add_topics,
    "teams": _add_teams,
    "revisions": _add_revisions,
    "uploads": _note_uploads,
    "runs": import_runs.add_runs,
    "reproductions": import_runs.add_reproductions,
    "editions": import_runs.add_editions,
    "pools": _add_pools,
    "pictures": showing.add_pictures,
    "snapshots": showing.add_snapshots,
}
"""Tables whose rows are more than their record."""
