"""Tasks of answers with runs, and revisions of their nuggets and labels."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from leaderboard.answers.ops.nuggets import reading
from leaderboard.answers.ops.nuggets.reading import PartFile
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision, Revision
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.trec.nuggets.packing import MadeBy, Part
from tests.make import answered, answers, build
from tests.make.build import built_once

WORKED = {
    "1": {
        "v1": ("vital", "support"),
        "v2": ("vital", "support"),
        "v3": ("vital", "partial_support"),
        "v4": ("vital", "not_support"),
        "o1": ("okay", "support"),
        "o2": ("okay", "partial_support"),
        "o3": ("okay", "not_support"),
    },
    "2": {"o1": ("okay", "support"), "o2": ("okay", "not_support")},
}
"""Topic -> nugget -> importance and label: the worked example of the measures of nuggets."""


def task(database: Database, folder: Path, slug: str = "t", topics: Iterable[str] = ("1", "2")) -> str:
    """A published task of answers without judgments; its slug."""
    return answered.task(database, folder, slug, topics=topics)


def run(
    database: Database,
    folder: Path,
    name: str = "one",
    lines: Iterable[answers.Line] = (),
    *,
    slug: str = "t",
    team_name: str = "Team",
    llm: str = "",
) -> int:
    """The id of an accepted run with these answers, whose team says which model it used."""
    path = answers.jsonl(folder / f"{name}.jsonl", lines)
    run_request = RunRequest(name, facts={"llm": llm} if llm else {})
    made = build.submit(database, path, slug, team_name=team_name, run_request=run_request)
    assert made.run_id is not None, made.report
    return made.run_id


def files(folder: Path, **parts: Iterable[object]) -> dict[Part, PartFile]:
    """The lines of each part in a file."""
    return {
        part: PartFile(answers.jsonl(folder / f"{part}.jsonl", lines), f"{part}.jsonl")  # type: ignore[misc]
        for part, lines in parts.items()
    }


@built_once
def revise(
    database: Database,
    given: Mapping[Part, PartFile],
    made_by: Mapping[Part, MadeBy] | None = None,
    *,
    slug: str = "t",
    leaves_out: bool | None = None,
    line: str = MAIN,
) -> Revision:
    """A new revision of the task's judgments of answers, or of another line of them."""
    with database.read() as session:
        prepared = reading.prepare(
            session, OPERATOR, slug, given, made_by or {}, leaves_out=leaves_out, line=line
        )
    with database.write() as session:
        new = NewRevision(prepared=prepared, note="a note", line=line)
        return revisions.revise(session, OPERATOR, slug, new)


def worked_lines(run: str = "one") -> list[answers.Line]:
    """Answers to the topics of the worked example."""
    return [answers.answer(topic, (f"Said by {run}.", ["d1"]), run=run) for topic in WORKED]


def worked_labels(run: str = "one", topics: Iterable[str] = WORKED) -> list[answers.Line]:
    """Assignments of the worked example."""
    return [answers.assigned(topic, WORKED[topic], run=run) for topic in topics]
