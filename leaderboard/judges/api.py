"""Operations on the reference of a judge task."""

from dataclasses import dataclass
from pathlib import Path

from leaderboard.judges.ops import imported
from leaderboard.judges.ops.sending import PreparedReference
from leaderboard.qrels.api.revisions import draft_answer
from leaderboard.qrels.ops import revisions
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.api.answers import DraftAnswer
from leaderboard.web.api.operations import ORGANISE, operation
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceBody:
    """source: slug of the task whose board is used. measure: empty for its ranking measure."""

    source: str
    measure: str = ""
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceQuery:
    """measure: required if a board file has several. is_machine: whether a machine judged it."""

    measure: str = ""
    is_machine: bool = False
    note: str = ""
    file_name: str = ""


@operation("POST", "/tasks/<slug>/reference", DraftAnswer, body=ReferenceBody, scopes=ORGANISE, status=201)
def choose_reference(slug: str, body: ReferenceBody) -> DraftAnswer:
    """Use a task's board as the reference of a judge task

    Uses its ranked runs under their public names. The reference is kept as a draft for a day: review it, then
    publish it like a draft of judgments.
    """
    reference = imported.from_task(reading(), viewer(), slug, body.source.strip(), body.measure.strip())
    return _kept(slug, reference, body.note)


@operation(
    "POST",
    "/tasks/<slug>/reference/file",
    DraftAnswer,
    query=ReferenceQuery,
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=ORGANISE,
    status=201,
)
def send_reference(slug: str, query: ReferenceQuery, file: Path) -> DraftAnswer:
    """Upload a board file as the reference of a judge task

    The body is the file, or a zip of it and `declared.csv` with facts declared by its runs (columns run,
    team, llm, reranker). It is kept as a draft for a day, like a board of a task.
    """
    with imported.files_of(file, base_name(query.file_name)) as sent:
        reference = imported.from_file(
            reading(),
            viewer(),
            slug,
            sent.board,
            sent.name,
            query.measure.strip(),
            sent.declared,
            is_machine=query.is_machine,
        )
    return _kept(slug, reference, query.note)


OPERATIONS = (choose_reference, send_reference)


def _kept(slug: str, made: PreparedReference, note: str) -> DraftAnswer:
    finish_reading()
    with writing() as session:
        token = revisions.keep_draft(session, viewer(), slug, made, note)
    return draft_answer(slug, token)
