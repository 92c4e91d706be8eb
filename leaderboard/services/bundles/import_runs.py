"""Runs of a bundle, checked and packed as any upload is, and the editions that they are scored for again."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from leaderboard.db.tables import Edition, Reproduction, Run, Upload
from leaderboard.errors import Invalid
from leaderboard.measures.naming import parse
from leaderboard.services import kinds
from leaderboard.services.bundles import answers as of_answers
from leaderboard.services.bundles.checking import broken
from leaderboard.services.bundles.importing import TaskImport, values_of
from leaderboard.services.bundles.records import TABLES, Record, RecordTable
from leaderboard.services.jobs import queue
from leaderboard.services.judges import imported as of_judges
from leaderboard.services.kinds import PackedRun, UploadRules
from leaderboard.services.runs import facts, prepare, uploads
from leaderboard.services.runs.prepare import PreparedUpload
from leaderboard.trec.runs.check import Rules
from leaderboard.trec.runs.reports import Report

DONE = frozenset({"current", "building"})
"""States of editions that every run has to be scored for."""


def add_runs(making: TaskImport, table: RecordTable) -> None:
    """Store each run with its file; raises Invalid where the file does not hold the rankings on record."""
    sent_table = next(each for each in TABLES if each.name == "uploads")
    for line, record in making.read(table):
        values = values_of(making, table, line, record)
        if values["upload_id"] not in making.sent:
            raise broken(table.path, line, "is the file of another run already.", "upload_id")
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
    made = _prepared(making, record, about, values)
    if made.run is None:
        raise Invalid(f"{member} is not accepted. Get the bundle anew.", made.report.problems)
    if values["ranking_sha256"] not in ("", made.run.digest):
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
    packed = made.run
    if making.owner.kind == "judges" and making.request.names:
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
    known: set[int] = set()
    for line, record in making.read(table):
        values = values_of(making, table, line, record)
        if values["run_id"] in known:
            raise broken(table.path, line, "has its line already.", "run_id")
        known.add(values["run_id"])
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
        known = making.ids["run"]
        if not isinstance(scored, list) or not all(
            isinstance(each, int) and each in known for each in scored
        ):
            raise broken(table.path, line, "must be runs of the bundle.", "scored", scored)
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
        raise broken(table.path, line, "is of another phase than the run.", "original_id")


def _require_versions(making: TaskImport, table: RecordTable, line: int, edition: Edition) -> None:
    """Raise Invalid where this program computes a measure otherwise than the bundle's board did."""
    keys = [measure["key"] for measure in edition.measures]
    if edition.primary_measure not in keys:
        rule = f"must be one of the edition's measures, {', '.join(keys) or 'of which there are none'}."
        raise broken(table.path, line, rule, "primary_measure", edition.primary_measure)
    for measure in edition.measures:
        key, version = measure.get("key"), measure.get("version")
        ours = parse(key).measure.version
        if ours != version and edition.state in DONE:
            rule = (
                f"is in version {ours} here and in version {version} on the board: its scores would differ."
            )
            raise broken(table.path, line, rule, "measures", key)


def _queue(making: TaskImport, edition: Edition, scored: list[int]) -> int:
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
