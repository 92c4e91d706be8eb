"""Tasks of judges: a reference, and boards that judges send."""

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Phase, Task, TopicSet
from leaderboard.judges.ops import imported
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision, Revision
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Submission
from tests.make import answers, build, nuggeted, twins
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
        prepared = imported.from_file(session, OPERATOR, slug, board, board.name, "", declared)
    with database.write() as session:
        return revisions.revise(session, OPERATOR, slug, NewRevision(prepared=prepared, note="a note"))


RANKINGS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "A": {"1": ("a", "c", "b"), "2": ("d", "a"), "3": ("e", "f")},
    "B": {"1": ("c", "a", "b"), "2": ("d", "x", "a"), "3": ("f", "x", "e")},
    "C": {"1": ("b", "x", "a"), "2": ("a", "d"), "3": ("x", "e")},
    "D": {"1": ("x", "b", "y", "c"), "2": ("a", "x"), "3": ("x", "y", "f")},
}
"""Runs of the task of rankings that build.task makes, the best first."""
LABELS = "1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 1.0\n2 0 d True\n2 0 x 0\n3 0 e 3\n3 0 f 1\n"
"""A judge's qrels of that task; people gave 2 0 1 on topic 1, 0 1 on topic 2, 3 1 on topic 3."""
CONFIDENT = "1 Q0 a 2 0.9 oak\n1 Q0 b 1 0.4 oak\n2 Q0 d 1 1 oak\n3 Q0 e 0 0.7 oak\n"


@built_once
def ranked(database: Database, folder: Path, slug: str = "t", **options: Any) -> None:
    """A task of rankings with four scored runs."""
    build.task(database, folder, slug, **{"measures": ("AP", "nDCG@10"), **options})
    for run, rankings in RANKINGS.items():
        build.run(database, folder, rankings, run, slug=slug)
    build.drain(database)


@built_once
def refer_to(
    database: Database, source: str = "t", slug: str = "judged", measure: str = "", viewer: Viewer = OPERATOR
) -> Revision:
    """Choose the board of a task as the reference of a task of judges."""
    with database.read() as session:
        prepared = imported.from_task(session, viewer, slug, source, measure)
    with database.write() as session:
        return revisions.revise(session, viewer, slug, NewRevision(prepared=prepared, note="a note"))


HELD: Mapping[str, tuple[str, str, str]] = {
    "A": ("support", "support", "support"),
    "B": ("support", "partial_support", "not_support"),
    "C": ("partial_support", "not_support", "not_support"),
}
"""Run -> whether its answers hold the nuggets v1, v2 and o1, by people."""
IMPORTANCE = {"v1": "vital", "v2": "vital", "o1": "okay"}


def held_nuggets(held: Mapping[str, Sequence[str]] = HELD) -> list[answers.Line]:
    """Lines of assignments of these runs, alike on both topics but for the last nugget's on topic 2."""
    return [
        answers.assigned(
            topic,
            {
                nugget: (kind, "not_support" if (nugget, topic) == ("o1", "2") else word)
                for (nugget, kind), word in zip(IMPORTANCE.items(), words, strict=True)
            },
            run=run,
        )
        for run, words in held.items()
        for topic in ("1", "2")
    ]


@built_once
def answered_task(database: Database, folder: Path, slug: str = "said") -> None:
    """A task of answers with three runs whose nuggets, and whose citations, were labelled."""
    nuggeted.task(database, folder, slug)
    for run in HELD:
        lines = [
            answers.answer(topic, (f"{run} says.", ["d1", "d2"]), ("And.", ["d3"]), run=run)
            for topic in ("1", "2")
        ]
        nuggeted.run(database, folder, run, lines, slug=slug)
    support = [
        answers.supported(topic, (2 - place, 0), (place,), run=run)
        for place, run in enumerate(HELD)
        for topic in ("1", "2")
    ]
    files = nuggeted.files(folder, assignments=held_nuggets(), support=support)
    nuggeted.revise(database, files, slug=slug)
    build.drain(database)


def label(
    database: Database, folder: Path, text: str = LABELS, name: str = "oak", **options: Any
) -> Submission:
    """What became of a judge's file of labels."""
    path = folder / f"{name}.txt"
    path.write_text(text)
    slug, team_name = options.pop("slug", "judged"), options.pop("team_name", "Team")
    run_request = options.pop("run_request", None) or RunRequest(name)
    return build.submit(database, path, slug, team_name=team_name, run_request=run_request)


def score_only(database: Database, slug: str, topic_id: str) -> None:
    """Have the phase of a task score one topic from now on: what is said of others is no longer shown."""
    with database.write() as session:
        task = session.scalars(select(Task).where(Task.slug == slug)).one()
        chosen = TopicSet(task_id=task.id, name="chosen", topics=[topic_id])
        session.add(chosen)
        session.flush()
        session.execute(update(Phase).where(Phase.task_id == task.id).values(topic_set_id=chosen.id))
        for edition in session.scalars(select(Edition).where(Edition.task_id == task.id)):
            whole = edition.topic_sets[ALL_TOPICS]
            edition.topic_sets = {**edition.topic_sets, "chosen": {**whole, "topics": [topic_id]}}


OWN = {"sky": "vital", "o1": "okay"}
"""Nuggets of a judge's own, alike on both topics: o1 is people's too, but for its answers on topic 2."""


def own_parts() -> dict[str, list[answers.Line]]:
    """A judge's own nuggets, its assignments of them, and support labels, of the runs in HELD."""
    cells = [(run, topic) for run in HELD for topic in ("1", "2")]
    labels = {"o1": "not_support", "sky": "support"}
    named = {nugget: (OWN[nugget], word) for nugget, word in labels.items()}
    return {
        "nuggets": [answers.nuggets(topic, **OWN) for topic in ("1", "2")],
        "assignments": [answers.assigned(topic, named, run=run) for run, topic in cells],
        "support": [answers.supported(topic, (2, 1), (0,), run=run) for run, topic in cells],
    }


def archive(folder: Path, name: str = "oak", **parts: Iterable[object]) -> Path:
    """A zip of a file for each part, named by it."""
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for part, lines in parts.items():
            zipped.writestr(f"{part}.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    return path


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
    run_request = options.pop("run_request", None)
    path = board_file(folder, scores, name, **options)
    return build.submit(
        database, path, slug, team_name=team_name, run_request=run_request or RunRequest(name)
    )


def judge(database: Database, folder: Path, scores: Scores = OAK, name: str = "oak", **options: Any) -> int:
    """The id of an accepted run of a judge."""
    made = submit(database, folder, scores, name, **options)
    assert made.run_id is not None, made.report
    return made.run_id


def to_twins(database: Database, folder: Path, secret: str) -> None:
    """A blind task of judges: on hidden topics the reference differs, and another team's board."""
    task(database, folder, topics=twins.TOPICS, visibility="blind")
    with database.read() as session:
        of = TopicSet.task_id == select(Task.id).where(Task.slug == "judged").scalar_subquery()
        public = list(session.scalar(select(TopicSet.topics).where(of, TopicSet.name == "public")) or ())
    facts = f"run,llm\nA,{secret}\n"
    refer(database, folder, _valued(secret, public, 3), topics=twins.TOPICS, facts=facts)
    judge(database, folder, _valued("", twins.TOPICS, 7), "own-judge", team_name="Owls", topics=twins.TOPICS)
    other, team = _valued(secret, public, 11), twins.MASKED[secret]
    judge(database, folder, other, "other-judge", team_name=team, topics=twins.TOPICS)


def _valued(secret: str, alike: Sequence[str], step: int) -> dict[str, tuple[float, ...]]:
    """Values of five runs on all topics, otherwise in world b where they are not to be alike."""
    turned = [secret == "b" and topic not in alike for topic in twins.TOPICS]
    return {
        run: tuple((place * step + at * (7 - 3 * turned[at])) % 13 / 13 for at in range(len(turned)))
        for place, run in enumerate("ABCDE")
    }
