"""A run's files: as it was sent, and its scores as trec_eval prints them; the command that prints these."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import Upload
from leaderboard.errors import NotFound
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import Judged
from leaderboard.measures.naming import parse
from leaderboard.measures.trec_lines import HEAD, lines_of, requested
from leaderboard.pages.runs.head import ranked_documents
from leaderboard.services import policy, shown_names
from leaderboard.services.evaluations.alignments import alignment
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.policy import Viewer
from leaderboard.trec.scores.missed import missed
from leaderboard.trec.scores.report import RunScores, trec

ALL_TREC = "all_trec"
LONGEST_NAME = 120
TYPES = {
    ".gz": "application/gzip",
    ".bz2": "application/x-bzip2",
    ".xz": "application/x-xz",
    ".zst": "application/zstd",
}
"""Ending of a file's name -> what it holds; anything else is text."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A run's file as it was sent: which upload holds its bytes, and how it is offered."""

    upload_id: int
    name: str
    media_type: str
    size: int
    sha256: str
    run_id: int | None = None
    """The run it became."""


def sent_file(session: Session, viewer: Viewer, run_id: int) -> SentFile:
    """The file as sent; raises NotFound for an unknown run and where the viewer may not have the file."""
    run, task, sight = policy.visible_run(session, viewer, run_id)
    if not shown_names.may_have_file(session, viewer, run, task, sight):
        raise NotFound(f"The file of run {run_id} is not open to you.", run=run_id)
    upload = session.get_one(Upload, run.upload_id)
    return replace(sent_as(upload, download_name(upload.file_name, run.id)), run_id=run.id)


def sent_as(upload: Upload, name: str) -> SentFile:
    """An upload's file under a name that says by its ending what it holds."""
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    kind = TYPES.get(ending, "text/plain; charset=utf-8")
    return SentFile(upload.id, name, kind, upload.bytes, upload.sha256)


def download_name(file_name: str, run_id: int) -> str:
    """A name a file can be saved under anywhere: plain letters, digits, dots, dashes and underscores.

    >>> download_name("../my run (1).txt.gz", 7), download_name("прогон", 7)
    ('my-run-1-.txt.gz', 'run-7.txt')
    """
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "._-") else " " for letter in file_name
    )
    name = "-".join(plain.split()).lstrip(".-")[-LONGEST_NAME:].lstrip(".-")
    return name or f"run-{run_id}.txt"


def command(
    file_name: str, keys: Sequence[str], *, dialect: int, level: int, leaves_out: bool = False
) -> str:
    """The line for a shell that computes measures from the file, as `trec_eval_text` gives them.

    level: the task's. It is an option where every measure has it, as trec_eval's names stand for one level.
    leaves_out: whether the revision leaves documents out of rankings.

    >>> command("run.txt", ["AP(rel=2)", "nDCG@10"], dialect=10, level=2)
    "leaderboard evaluate qrels.txt run.txt -q --dialect 10 -l 2 -m runid -m num_q -m 'AP(rel=2)' -m nDCG@10"
    """
    options = ["-q", "--dialect", str(dialect)]
    options += ["--leave-out", "left_out.txt"] if leaves_out else []
    if (common := level_of([parse(key) for key in keys], level)) > 1:
        options += ["-l", str(common)]
    measures = [part for key in ("runid", "num_q", *keys) for part in ("-m", key)]
    return shlex.join(["leaderboard", "evaluate", "qrels.txt", file_name, *options, *measures])


def level_of(measures: Sequence[BoundMeasure], level: int) -> int:
    """The level that measures were bound with: the task's, or 1 where one of them has another."""
    levels = {measure.params["rel"] for measure in measures if "rel" in measure.params}
    return level if levels == {level} else 1


def trec_eval_text(session: Session, viewer: Viewer, run_id: int, *, all_trec: bool) -> str:
    """A run's scores by topic and over all topics, as trec_eval prints them.

    By the board's measures, or by all of trec_eval's. Raises NotFound for an unknown run, for one that ranks
    no documents, is withdrawn or not scored, and while scores by topic are held back.
    """
    scored = ranked_documents(session, viewer, run_id)
    run, task, source = scored.run, scored.seen.task, scored.source
    judged = alignment(session, source, run.id)
    if all_trec:
        lines, _ = requested([ALL_TREC], source.dialect, task.level)
    else:
        measures = [parse(column.key) for column in scored.columns]
        lines = lines_of(measures, level_of(measures, task.level), HEAD)
    tag = scored.seen.name if scored.seen.masked else run.tag
    chosen = [line.measure for line in lines if line.measure is not None]
    return "".join(trec([_scores(tag, judged, chosen, source)], lines, per_topic=True))


def _scores(tag: str, judged: Judged, measures: Sequence[BoundMeasure], source: Source) -> RunScores:
    places = np.array(source.places, dtype=np.int64)
    scores = {measure: measure.compute(judged)[places] for measure in measures}
    parts = {measure: part[:, places] for measure in measures if (part := measure.parts(judged)) is not None}
    of_missed = missed(judged, measures, places=places)
    return RunScores(tag, source.topics, scores, parts, of_missed)
