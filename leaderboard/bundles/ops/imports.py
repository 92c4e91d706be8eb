"""Import of a task from a bundle: one transaction, then all runs are scored again.

Scores are not read from the bundle: they are computed of its runs and judgments, so they are what these give.

The operator's import believes a bundle about the past: editions, labels, what teams agreed to. A bundle from
anywhere may say anything, so here the board is built again and the rest stays out.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import teams
from leaderboard.boards.ops import board as boards
from leaderboard.bundles.ops import checking
from leaderboard.bundles.ops import judgments as of_answers
from leaderboard.bundles.ops.checking import (
    NOT_BELIEVED,
    ImportRequest,
    Progress,
    TaskImport,
    add_all,
    broken,
    make_own,
    values_of,
)
from leaderboard.bundles.ops.judgments import RevisionFiles
from leaderboard.bundles.ops.opening import BundleFiles
from leaderboard.bundles.ops.records import FOLDER, NUMBERED, TABLES, Numbers, Record, RecordTable
from leaderboard.core import audit, kinds, policy
from leaderboard.core.jobs import queue
from leaderboard.core.kinds import PackedRun, UploadRules
from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.db.engine import unlimited
from leaderboard.db.tables import (
    Edition,
    Phase,
    Qrels,
    Reproduction,
    Run,
    Task,
    Team,
    Topic,
    TopicSet,
    Upload,
)
from leaderboard.errors import Invalid
from leaderboard.measures.naming import parse
from leaderboard.runs.ops import prepare, uploads
from leaderboard.runs.ops.prepare import PreparedUpload
from leaderboard.scoring.ops import collections
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.tasks.ops import drafts, entries
from leaderboard.tasks.ops.pseudonyms.pseudonyms import SEED_BYTES
from leaderboard.trec.runs.check import Report, Rules


class OtherVersion(Invalid):
    """A bundle whose measures this program computes otherwise."""


DONE = frozenset({"current", "building"})
"""States of editions that every run has to be scored for."""


def add_runs(making: TaskImport, table: RecordTable) -> None:
    """Store each run with its file; raises Invalid where the file does not hold the rankings on record."""
    sent_table = next(each for each in TABLES if each.name == "uploads")
    for line, record in making.read(table):
        values = values_of(making, table, line, record)
        if values["upload_id"] not in making.sent:
            raise broken(table.path, line, "is already the file of another run.", "upload_id")
        sent_line, sent = making.sent.pop(values["upload_id"])
        about = values_of(making, sent_table, sent_line, sent)
        values["name"] = making.request.names.get(values["name"], values["name"])
        place = table.path, line
        run_id, run = _add_run(making, place, record, about, values)
        making.ids["run"][record["id"]] = run_id
        if making.owner.kind == "judges":
            _add_boards(making, place, record, run_id, run)
        making.progress(str(record.get("file")))


def _add_run(
    making: TaskImport, place: tuple[str, int], record: Record, about: dict[str, Any], values: dict[str, Any]
) -> tuple[int, PackedRun]:
    """Store a run with its file, whose rankings must be those on record; its id."""
    member = record.get("file")
    prepared_upload = _prepared(making, record, about, values)
    if prepared_upload.run is None:
        raise Invalid(f"{member} is not valid. Download the bundle again.", prepared_upload.report.problems)
    if values["ranking_sha256"] not in ("", prepared_upload.run.digest):
        raise broken(*place, "does not match the digest of the rankings in its file.", "ranking_sha256")
    if about["sha256"] not in ("", prepared_upload.sha256):
        raise broken(*place, "The file does not match its digest.", "sha256")
    report = about.get("report") or prepared_upload.report.as_json()
    Report.from_json(report)
    about |= {"sha256": prepared_upload.sha256, "bytes": prepared_upload.size, "report": report}
    upload = Upload(**about)
    making.session.add(upload)
    making.session.flush()
    uploads.add_pieces(making.session, upload.id, prepared_upload.chunks())
    packed = prepared_upload.run
    if making.owner.kind == "judges" and making.request.names:
        from leaderboard.judges.ops import imported as of_judges

        assert packed.board is not None, "a judge sends a board"
        packed = of_judges.under_names(packed.board, making.request.names)
    values |= {
        "upload_id": upload.id,
        "ranking_sha256": packed.digest,
        "sketch": packed.sketch,
        "details": facts.stored(packed.details, facts.form_of(values.get("details", {}))),
        "order_differs": packed.order_differs,
        "filed": True,
    }
    run = Run(**values)
    making.session.add(run)
    making.session.flush()
    kinds.of(making.owner.kind).store(making.session, run.id, packed)
    return run.id, packed


def _prepared(
    making: TaskImport, record: Record, about: dict[str, Any], values: dict[str, Any]
) -> PreparedUpload:
    member = record.get("file")
    path, limits = making.files.file(member), making.request.limits
    if making.owner.kind == "judges":
        from leaderboard.judges.ops import imported as of_judges

        labels = record.get("labels")
        judge = of_judges.BroughtJudge(
            file=of_judges.BundleText(str(member), path),
            labels=of_judges.BundleText(str(labels), making.files.file(labels)) if labels else None,
            sha256=values["ranking_sha256"],
        )
        return of_judges.prepared(
            making.session, making.owner, making.topics, judge, about["file_name"], limits
        )
    rules = UploadRules(
        making.owner.id,
        kinds.of(making.owner.kind),
        Rules(topics=making.topics, depth=None, dialect=making.owner.dialect),
        is_blind=False,
        own=_answer_rules(making, about.get("report")),
    )
    return prepare.prepare(path, about["file_name"], rules, limits)


def _add_boards(
    making: TaskImport, place: tuple[str, int], record: Record, run_id: int, run: PackedRun
) -> None:
    """Store the boards that a judge's labels made, where these cannot be scored here and are believed."""
    from leaderboard.judges.ops import imported as of_judges

    assert run.board is not None, "a judge sends a board"
    boards = record.get("boards", [])
    if not of_judges.are_places(boards, making.ids["qrels_revision"]):
        raise broken(*place, "must be objects with revision_id, dialect and file.", "boards")
    for board in boards:
        key = {
            "run_id": run_id,
            "revision_id": making.ids["qrels_revision"][board["revision_id"]],
            "dialect": board["dialect"],
        }
        file = of_judges.BundleText(str(board["file"]), making.files.file(board["file"]))
        if making.is_trusted:
            of_judges.add_board(making.session, key, run.board, file, making.request.names)
    if of_judges.are_labels(run.board) and not of_judges.are_scored_here(making.session, making.owner):
        making.unscored.append(run_id)


def _answer_rules(making: TaskImport, report: dict[str, Any] | None) -> Any:
    if making.owner.kind != "answers":
        return None
    return of_answers.rules(making.topics, Report.from_json(report).facts if report else {})


def add_reproductions(making: TaskImport, table: RecordTable) -> None:
    """Store which run reproduces which; raises Invalid for a run that has two, and for what cannot be one."""
    run_ids: set[int] = set()
    for line, record in making.read(table):
        values = values_of(making, table, line, record)
        if values["run_id"] in run_ids:
            raise broken(table.path, line, "has its line already.", "run_id")
        run_ids.add(values["run_id"])
        _require_reproduction(making, table, line, values)
        making.session.add(Reproduction(**values))


def add_editions(making: TaskImport, table: RecordTable) -> None:
    """Store the editions and queue the scoring of the runs that had scores in them."""
    for line, record in making.read(table):
        edition = Edition(**values_of(making, table, line, record))
        _require_versions(making, table, line, edition)
        making.session.add(edition)
        making.session.flush()
        making.ids["edition"][record["id"]] = edition.id
        scored = record.get("scored")
        run_ids = making.ids["run"]
        if not isinstance(scored, list) or not all(
            isinstance(each, int) and each in run_ids for each in scored
        ):
            raise broken(table.path, line, "must be runs in the bundle.", "scored", scored)
        making.jobs += _queue(making, edition, [making.ids["run"][each] for each in scored])


def _require_reproduction(
    making: TaskImport, table: RecordTable, line: int, values: Mapping[str, Any]
) -> None:
    """Raise Invalid where a run reproduces itself, or one of another phase."""
    if values["original_id"] == values["run_id"]:
        raise broken(table.path, line, "is the run itself.", "original_id")
    columns = "run_id", "original_id", "baseline_id", "original_baseline_id"
    named = [run_id for column in columns if (run_id := values.get(column)) is not None]
    if len(set(making.session.scalars(select(Run.phase_id).where(Run.id.in_(named))))) > 1:
        raise broken(table.path, line, "is in a different phase from the run.", "original_id")


def _require_versions(making: TaskImport, table: RecordTable, line: int, edition: Edition) -> None:
    """Raise Invalid where this program computes a measure otherwise than the bundle's board did."""
    keys = [measure["key"] for measure in edition.measures]
    if edition.primary_measure not in keys:
        rule = f"must be one of the edition's measures, {', '.join(keys) or '(none)'}."
        raise broken(table.path, line, rule, "primary_measure", edition.primary_measure)
    for measure in edition.measures:
        key, version = measure.get("key"), measure.get("version")
        ours = parse(key).measure.version
        if ours != version and edition.state in DONE:
            rule = (
                f"has version {ours} on this site and version {version} in the bundle, so its scores would "
                "differ."
            )
            invalid = broken(table.path, line, rule, "measures", key)
            raise OtherVersion(invalid.message, invalid.problems)


def _queue(making: TaskImport, edition: Edition, scored: list[int]) -> int:
    """Queue the scoring of the runs that had scores in the edition, and of all that are to have some."""
    run_ids = set(scored)
    if any(parse(each["key"]).measure.version != each["version"] for each in edition.measures):
        # An edition of the past by another version stays without scores: ours would be mistaken for its own.
        return 0
    if edition.state in DONE:
        there = select(Run.id).where(Run.task_id == making.owner.id, Run.withdrawn_at.is_(None))
        run_ids |= set(making.session.scalars(there))
    queue.enqueue_new(
        making.session, queue.EVALUATE, sorted(run_ids), priority=queue.AGAIN, edition_id=edition.id
    )
    return len(run_ids)


REMEDY = "Nothing was stored. Download the bundle again."


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTask:
    """The task that was made; jobs is how many evaluations are queued."""

    slug: str
    teams_known: tuple[str, ...]
    """Teams that the site had already: their members are notified of these runs."""
    teams_new: tuple[str, ...]
    runs: int
    revisions: int
    jobs: int
    unscored: int = 0
    """Judges whose labels cannot be scored here: the runs of their reference are on another site."""
    left_behind: tuple[str, ...] = ()
    """Sentences on features of an earlier version that no longer exist."""


def bring_in(
    session: Session,
    viewer: Viewer,
    files: BundleFiles,
    request: ImportRequest,
    progress: Progress = lambda _: None,
) -> ImportedTask:
    """Store the task of a bundle whose digests were checked, and queue the scoring of its runs.

    For the operator: teams are found by name, and dates are kept. Raises Conflict where the slug
    is taken, Invalid with file, line and rule for anything that cannot be stored; the caller's transaction
    then holds nothing.
    """
    policy.require_operator(viewer)
    # Packing a large run takes longer than a page's transaction may wait.
    unlimited(session.connection())
    making = TaskImport(session=session, viewer=viewer, files=files, request=request, progress=progress)
    store(making, TABLES)
    if making.owner.published_at is not None:
        entries.tell_all(session, making.owner)
    return imported(making)


def store(making: TaskImport, tables: Iterable[RecordTable]) -> None:
    """Store the records of some tables, each by its road, once every record of all was checked."""
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
    """Raise Invalid for the first record that breaks its own rule: nothing is written by then."""
    ids: Numbers = {name: {} for name in NUMBERED}
    for table in tables:
        for line, record in making.read(table):
            checking.checked_values(table, line, record, ids)
            if (own := ids.get(table.model.__tablename__)) is not None:
                own[record["id"]] = record["id"]


@contextmanager
def _named(making: TaskImport) -> Iterator[None]:
    """Name the record in a refusal, also by code that relies on its form."""
    try:
        yield
    except IntegrityError as error:
        raise Invalid(f"{making.place}: contradicts another record. {REMEDY}") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise Invalid(f"{making.place}: is not valid for this file: {error!r}. {REMEDY}") from error
    except Invalid as error:
        if error.message.startswith(FOLDER):
            raise
        raise Invalid(f"{making.place}: {error.message}", error.problems) from error


def imported(making: TaskImport) -> ImportedTask:
    """Summary of an import, recorded in the audit log."""
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
        values = checking.checked_values(table, line, record, making.ids)
        slug = values["slug"] = making.request.slug or values["slug"]
        if making.task is not None or not drafts.is_slug(slug):
            raise broken(table.path, line, drafts.RULE, "slug", slug)
        drafts.hold_slug(making.session, slug)
        drafts.require_free(making.session, making.viewer, slug)
        # Teams that enter later are drawn by a secret that this site alone knows.
        making.was_published = values.get("published_at") is not None
        values |= {} if making.is_trusted else NOT_BELIEVED[table.name]
        seed = secrets.token_hex(SEED_BYTES) if values.get("pseudonym_list") else ""
        of = _collection(making, table, line, record)
        making.task = Task(**values, collection_id=of, pseudonym_seed=seed)
        making.session.add(making.task)
        making.session.flush()
        make_own(making)
    making.owner  # noqa: B018 (raises if absent)


def _collection(making: TaskImport, table: RecordTable, line: int, record: Record) -> int:
    """The site's collection of that name and size, else a new one, under another name where that is taken."""
    given = record.get("collection")
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise broken(table.path, line, "must name the collection of the task.", "collection")
    name, size, link = given["name"], given.get("size"), given.get("link_template") or ""
    by_name = {row.name: row for row in collections.choices(making.session, making.viewer)}
    if name in by_name and by_name[name].size == size:
        return by_name[name].id
    number = 1
    candidate = name
    while candidate in by_name:
        number += 1
        candidate = f"{name[:90]} ({number})"
    return collections.add(making.session, making.viewer, candidate, size=size, link_template=link).id


def _add_topics(making: TaskImport, table: RecordTable) -> None:
    add_all(making, table)
    query = select(Topic.topic_id).where(Topic.task_id == making.owner.id).order_by(Topic.position)
    making.topics = tuple(making.session.scalars(query))


def _add_teams(making: TaskImport, table: RecordTable) -> None:
    for line, record in making.read(table):
        values = checking.checked_values(table, line, record, making.ids)
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
        values = checking.checked_values(table, line, record, making.ids)
        of = making.session.get_one(Qrels, values["qrels_id"])
        if (of.kind == "board") != (making.owner.kind == "judges"):
            raise broken(
                table.path, line, f"is for judgments that {making.owner.kind[:-1]} tasks cannot have."
            )
        others, gone = record.get("distractors"), record.get("left_out")
        paths = RevisionFiles(
            str(record.get("file")),
            making.files.file(record.get("file")),
            making.files.file(others) if others else None,
            making.files.file(gone) if gone else None,
        )
        revision = of_answers.add_revision(making, of, making.parents.get(of.id), values, paths)
        making.parents[of.id] = revision
        making.ids["qrels_revision"][record["id"]] = revision.id
        making.progress(str(record.get("file")))


def _note_uploads(making: TaskImport, table: RecordTable) -> None:
    """Keep in mind what came with each run's file, to be stored with the run."""
    for line, record in making.read(table):
        making.sent[record["id"]] = (line, record)
        # Its row is made with the run: until then it keeps its number.
        making.ids["upload"][record["id"]] = record["id"]


def _add_pools(making: TaskImport, table: RecordTable) -> None:
    add_all(making, table)
    for _, record in making.read(table):
        path = making.files.file(record.get("file"))
        of_answers.add_pool(making.session, making.ids["pool"][record["id"]], str(record["file"]), path)


_ROADS: dict[str, Callable[[TaskImport, RecordTable], None]] = {
    "task": _add_task,
    "topics": _add_topics,
    "teams": _add_teams,
    "revisions": _add_revisions,
    "uploads": _note_uploads,
    "runs": add_runs,
    "reproductions": add_reproductions,
    "editions": add_editions,
    "pools": _add_pools,
    "pictures": checking.add_pictures,
    "snapshots": checking.add_snapshots,
}
"""Tables whose rows are more than their record."""


TAKEN = frozenset(
    {
        *("task", "topics", "topic_sets", "phases", "teams", "entries", "lines", "revisions", "uploads"),
        *("runs", "reproductions", "groups", "grouped_teams", "grouped_runs", "pictures"),
    }
)
"""Tables that are read; editions are built again."""
LEFT_OUT = {
    "editions": "past editions of the leaderboard",
    "pools": "pools",
    "assessments": "labels of assessors",
    "answers": "side-by-side judgments",
    "announcements": "announcements",
    "changes": "the history of settings",
    "snapshots": "snapshots",
}
"""Table that is not read -> what its rows are, for anyone who imports."""


def bring(session: Session, viewer: Viewer, files: BundleFiles, request: ImportRequest) -> ImportedTask:
    """Store a bundle's task, with what the viewer may vouch for; raises as `take_in` does."""
    is_believed = viewer.is_operator or viewer.operates
    return (bring_in if is_believed else take_in)(session, viewer, files, request)


def take_in(
    session: Session,
    viewer: Viewer,
    files: BundleFiles,
    request: ImportRequest,
    progress: Progress = lambda _: None,
) -> ImportedTask:
    """Store the task of a bundle whose digests were checked, for the viewer to organise.

    It is published if it was; its board is built again under the newest judgments. Runs are filed under the
    teams of their names, as an organiser may file them. Raises as `imports.bring_in` does; the caller's
    transaction then holds nothing.
    """
    policy.require_creator(viewer)
    # Packing a large run takes longer than a page's transaction may wait.
    unlimited(session.connection())
    making = TaskImport(
        session=session, viewer=viewer, files=files, request=request, progress=progress, is_trusted=False
    )
    store(making, (table for table in TABLES if table.name in TAKEN))
    _require_parts(making)
    if making.was_published:
        drafts.publish(session, making.viewer, making.owner.slug)
        session.flush()
    _require_board(making)
    return imported(making)


def _require_parts(making: TaskImport) -> None:
    """Raise Invalid unless there are phases, and sets of topics that the task has."""
    session, task_id = making.session, making.owner.id
    topics = set(making.topics)
    sets = session.execute(select(TopicSet.name, TopicSet.topics).where(TopicSet.task_id == task_id)).all()
    if not any(row.name == ALL_TOPICS and row.topics is None for row in sets):
        raise Invalid(f"The bundle has no topic set {ALL_TOPICS!r}. Download the bundle again.")
    for row in sets:
        if row.topics is not None and not (row.topics and set(row.topics) <= topics):
            raise Invalid(
                f"The topic set {row.name!r} has topics that are not in the task. Download the bundle again."
            )
    if not session.scalar(select(func.count()).where(Phase.task_id == task_id)):
        raise Invalid("The bundle has no phase. Download the bundle again.")


def _require_board(making: TaskImport) -> None:
    """Raise Invalid unless each phase has a board that its organiser and the public can see.

    The front page shows all tasks: one that cannot be shown must not get there.
    """
    task = making.owner
    names = select(Phase.name).where(Phase.task_id == task.id)
    viewers = [making.viewer, *([ANONYMOUS] if task.published_at is not None else [])]
    for phase in making.session.scalars(names).all():
        for viewer in viewers:
            try:
                boards.board(making.session, replace(viewer, phase=phase), task.slug)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise Invalid(
                    f"The leaderboard of the phase {phase} cannot be shown. Download the bundle again."
                ) from error
