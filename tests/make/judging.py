"""Tasks of judges: a reference, and boards that judges send."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leaderboard.db.engine import Database
from leaderboard.services.judges import references
from leaderboard.services.policy import OPERATOR
from leaderboard.services.revisions import publish
from leaderboard.services.revisions.publish import NewRevision, Revision
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.uploads import Submission
from tests.make import build
from tests.make.copies import built_once

Scores = Mapping[str, Sequence[float]]
"""Run -> its values on the topics, in their order."""
TOPICS = ("1", "2", "3")
REFERENCE: Scores = {
    "A": (0.9, 0.7, 0.8),
    "B": (0.8, 0.6, 0.7),
    "C": (0.5, 0.7, 0.6),
    "D": (0.6, 0.6, 0.6),
    "E": (0.2, 0.4, 0.3),
}
"""The worked example of docs/judges.md, with a third topic."""
OAK: Scores = {
    "A": (0.9, 0.9, 0.9),
    "B": (0.6, 0.6, 0.6),
    "C": (0.7, 0.8, 0.75),
    "D": (0.5, 0.7, 0.6),
    "E": (0.1, 0.3, 0.2),
}
ELM: Scores = {
    "A": (0.8, 0.6, 0.7),
    "B": (0.7, 0.7, 0.9),
    "C": (0.4, 0.5, 0.6),
    "D": (0.5, 0.4, 0.5),
    "E": (0.1, 0.2, 0.3),
}
HEAD = "run_id query_id measure value"
FACTS = "run,team,llm\nA,Owls,GPT-4o\nB,Foxes,Llama 3\nC,Owls,none\n"


def board_text(
    scores: Scores, measure: str = "M", topics: Sequence[str] = TOPICS, head: str = "", with_all: bool = True
) -> str:
    """A board file in the order run, topic, measure, value."""
    lines = [
        f"{run} {topic} {measure} {value}"
        for run, values in scores.items()
        for topic, value in zip(topics, values, strict=True)
    ]
    means = [f"{run} all {measure} {sum(values) / len(values)}" for run, values in scores.items()]
    return "".join(f"{line}\n" for line in (*([head] if head else []), *lines, *(means if with_all else ())))


def board_file(folder: Path, scores: Scores, name: str = "board", **options: Any) -> Path:
    """Such a file on disk."""
    path = folder / f"{name}.txt"
    path.write_text(board_text(scores, **options))
    return path


@built_once
def refer(
    database: Database,
    folder: Path,
    scores: Scores = REFERENCE,
    slug: str = "judged",
    topics: Sequence[str] = TOPICS,
    facts: str = FACTS,
) -> Revision:
    """Choose a board file as the reference of a task."""
    board = board_file(folder, scores, "reference", topics=topics, measure="nDCG", head=HEAD)
    declared = folder / "declared.csv"
    declared.write_text(facts)
    with database.read() as session:
        prepared = references.from_file(session, OPERATOR, slug, board, board.name, "", declared)
    with database.write() as session:
        return publish.revise(session, OPERATOR, slug, NewRevision(prepared=prepared, note="a note"))


def task(
    database: Database, folder: Path, slug: str = "judged", topics: Sequence[str] = TOPICS, **options: Any
) -> str:
    """A published, sealed task of judges without a reference."""
    visibility = options.pop("visibility", "sealed")
    return build.task(
        database, folder, slug, judgments=None, kind="judges", topics=topics, visibility=visibility, **options
    )


def submit(
    database: Database, folder: Path, scores: Scores = OAK, name: str = "oak", **options: Any
) -> Submission:
    """What became of a judge's board file."""
    slug, team_name = options.pop("slug", "judged"), options.pop("team_name", "Team")
    wishes = options.pop("wishes", None)
    path = board_file(folder, scores, name, **options)
    return build.submit(database, path, slug, team_name=team_name, wishes=wishes or RunRequest(name))


def judge(database: Database, folder: Path, scores: Scores = OAK, name: str = "oak", **options: Any) -> int:
    """The id of an accepted run of a judge."""
    made = submit(database, folder, scores, name, **options)
    assert made.run_id is not None, made.report
    return made.run_id
