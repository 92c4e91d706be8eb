"""Where a run's numbers come from: its file, judgments and evaluator; and runs that are nearly the same."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.db.tables import Upload
from leaderboard.pages.runs import files
from leaderboard.pages.runs.head import RunHead, ScoredRun, SeenRun, caption, head_facts, scores_of_topics
from leaderboard.pages.runs.near_duplicates import NearDuplicate, near_duplicates
from leaderboard.services import shown_names
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.tables.record import Column, Files, Table, columns_from


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What the file was that a run came in."""

    file_name: str
    """Empty while the viewer is not to know the team, as are digests, size and tag: one could guess."""
    sha256: str
    size: int | None
    uploaded_at: datetime
    execution: Mapping[str, str]
    """What a runner of the organisers says it executed: by, image, commit; empty where none sent the run."""
    tag: str
    ranking_sha256: str
    download_name: str
    may_download: bool
    """Whether this viewer may have the file as sent."""
    masked: bool
    """Whether this viewer knows the team by a pseudonym only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginPage(RunHead):
    """Where a run's numbers come from."""

    topics_run: int
    entries: int
    deepest: int
    order_differs: bool
    """Whether some topic is ordered differently with scores of 32 bits than with those of 64."""
    provenance: Provenance | None
    """None for whom the file's facts are not shown."""
    columns: tuple[MeasureColumn, ...]
    primary: str
    evaluator: str | None
    """Version of this program that computed the scores; None where those by topic are not shown."""
    command: str | None
    """What computes them again from the run's file."""
    near: tuple[NearDuplicate, ...]


def origin_page(session: Session, seen: SeenRun, measure: str | None = None) -> OriginPage:
    """Where a run's numbers come from; near copies are told by a measure, the primary one by default."""
    scored = scores_of_topics(session, seen)
    run, provenance = seen.run, _provenance(session, seen)
    edition = seen.shown.edition
    return OriginPage(
        **seen.head(by_topic=scored is not None),
        topics_run=run.topics,
        entries=run.entries,
        deepest=run.deepest,
        order_differs=run.order_differs and seen.is_told,
        provenance=provenance if seen.is_told else None,
        columns=seen.columns,
        primary=edition.primary_measure if edition is not None else seen.task.primary_measure,
        evaluator=next(row.evaluator for row in scored.stored.values()) if scored else None,
        command=_command(scored, provenance.download_name) if scored else None,
        near=near_duplicates(session, scored, measure) if scored else (),
    )


def facts(page: OriginPage) -> dict[str, Any]:
    """The page as plain values."""
    return {**head_facts(page), **origin_facts(page), "near_duplicates": near_facts(page)}


def origin_facts(page: OriginPage) -> dict[str, Any]:
    """Digests, versions and the command."""
    return {
        "measure_versions": {column.key: column.version for column in page.columns},
        "file_sha256": (page.provenance.sha256 or None) if page.provenance else None,
        "execution": dict(page.provenance.execution) if page.provenance else {},
        "ranking_sha256": (page.provenance.ranking_sha256 or None) if page.provenance else None,
        "evaluator": page.evaluator,
        "command": page.command,
    }


def near_facts(page: OriginPage) -> list[dict[str, Any]]:
    """The runs that are nearly the same."""
    return [asdict(pair) for pair in page.near]


def table(page: OriginPage) -> Table[NearDuplicate]:
    """The runs that are nearly the same."""
    return Table(
        f"{page.name}-near",
        caption(page, "Near copies"),
        columns_from(
            NearDuplicate,
            "run run_id team",
            Column("same", _same, "What is the same"),
            "overlap",
            Column(
                "shared",
                lambda row: row.shared,
                "Shared top 10",
                words=lambda row: f"{100 * row.shared:.0f}%",
                digits=2,
                title="Estimated from sketches of 256 documents",
            ),
            "same_team",
        ),
        page.near,
    )


FILES = Files(facts=facts, tables={"near": table})


def _same(row: NearDuplicate) -> str:
    if row.same_ranking:
        return "all rankings"
    return "the score of every topic" if row.same_scores else "nearly all of the top ranks"


def _command(scored: ScoredRun, file_name: str) -> str:
    keys = [column.key for column in scored.columns]
    return files.command(
        file_name,
        keys,
        dialect=scored.edition.dialect,
        level=scored.seen.task.level,
        leaves_out=scored.source.leaves_out,
    )


def _execution(wishes: Mapping[str, Any], *, masked: bool) -> Mapping[str, str]:
    said = wishes.get("execution") or {}
    return {key: text for key, text in said.items() if key == "by" or not masked}


def _provenance(session: Session, seen: SeenRun) -> Provenance:
    """The facts of a run's file, without its name and tag while the viewer is not to know the team."""
    run, masked = seen.run, seen.masked
    upload = session.get_one(Upload, run.upload_id)
    file_name = "" if masked else upload.file_name
    return Provenance(
        file_name=file_name,
        sha256="" if masked else upload.sha256,
        size=None if masked else upload.bytes,
        uploaded_at=upload.created_at,
        # A digest of a system tells whose it is as well as one of the file does.
        execution=_execution(upload.wishes, masked=masked),
        tag="" if masked else run.tag,
        # Equal rankings have one digest in every task, also in those where the team is named.
        ranking_sha256="" if masked else run.ranking_sha256,
        download_name=files.download_name(file_name, run.id),
        may_download=shown_names.may_have_file(session, seen.viewer, run, seen.task, seen.sight),
        masked=masked,
    )
