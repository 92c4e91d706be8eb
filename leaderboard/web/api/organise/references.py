"""Operations on the reference of an organiser's task of judges: chosen, then published as judgments are."""

from dataclasses import dataclass
from pathlib import Path

from leaderboard.services import revisions
from leaderboard.services.judges import imported
from leaderboard.services.judges.sending import PreparedReference
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.api.operations import operation
from leaderboard.web.api.organise.answers import DraftAnswer
from leaderboard.web.api.organise.revisions import draft_answer
from leaderboard.web.api.organise.tasks import ORGANISE
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceBody:
    """source: the task whose board it is, by its name in addresses. measure: empty for what it ranks by."""

    source: str
    measure: str = ""
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceQuery:
    """measure: of a board file with several. is_machine: whether a machine judged it."""

    measure: str = ""
    is_machine: bool = False
    note: str = ""
    file_name: str = ""


@operation("POST", "/tasks/<slug>/reference", DraftAnswer, body=ReferenceBody, scopes=ORGANISE, status=201)
def choose_reference(slug: str, body: ReferenceBody) -> DraftAnswer:
    """Choose the board of a task as the reference of a task of judges

    Its ranked runs under the names that everybody reads. It is kept as a draft for a day: look at it, then
    publish it as a draft of judgments is.
    """
    made = imported.from_task(reading(), viewer(), slug, body.source.strip(), body.measure.strip())
    return _kept(slug, made, body.note)


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
    """Send a board file as the reference of a task of judges

    The body is the file as it is, or a zip of it and `declared.csv` with what its runs declare (columns run,
    team, llm, reranker). It is kept as a draft for a day, as a board of a task is.
    """
    with imported.files_of(file, base_name(query.file_name)) as sent:
        made = imported.from_file(
            reading(),
            viewer(),
            slug,
            sent.board,
            sent.name,
            query.measure.strip(),
            sent.declared,
            is_machine=query.is_machine,
        )
    return _kept(slug, made, query.note)


OPERATIONS = (choose_reference, send_reference)


def _kept(slug: str, made: PreparedReference, note: str) -> DraftAnswer:
    finish_reading()
    with writing() as session:
        token = revisions.keep_draft(session, viewer(), slug, made, note)
    return draft_answer(slug, token)
