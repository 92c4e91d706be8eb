"""A task of answers and its runs, by the road of a user."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.runs.ops.uploads import Submission
from tests.make import build

Texts = Mapping[str, Sequence[tuple[str, Sequence[str]]]]
"""Topic -> segments: text and cited docnos."""
TEXTS: Texts = {
    "1": [("Air scatters <b>blue</b> light most.", ["d4", "d9"]), ("It always did.", [])],
    "2": [("Rivers carry salt.", ["d7"])],
    "3": [("Nobody knows.", [])],
}
METADATA = "method:\n  automatic: true\nplatform:\n  hardware:\n    ram: 64 GB\nactor:\n  team: Owls\n"


def task(database: Database, folder: Path, slug: str = "answers", **options: Any) -> str:
    """A task of answers with the topics of other built tasks; rules: what answers are checked against."""
    rules = options.pop("rules", {})
    made = build.task(database, folder, slug, judgments=None, kind="answers", **options)
    if rules:
        with database.write() as session:
            session.query(Task).filter(Task.slug == slug).update({"answer_rules": rules})
    return made


def run_file(folder: Path, texts: Texts = TEXTS, name: str = "answered") -> Path:
    """A file of answers in the dialect `report`."""
    path = folder / f"{name}.jsonl"
    path.write_text(
        "".join(json.dumps(line(topic, segments, name)) + "\n" for topic, segments in texts.items())
    )
    return path


def line(topic: str, segments: Sequence[tuple[str, Sequence[str]]], name: str = "answered") -> dict[str, Any]:
    """One answer in the dialect `report`."""
    return {
        "metadata": {"team_id": "u", "run_id": name, "topic_id": topic},
        "responses": [{"text": text, "citations": list(docnos)} for text, docnos in segments],
        "references": list(dict.fromkeys(docno for _, docnos in segments for docno in docnos)),
    }


def longeval_zip(path: Path, texts: Texts = TEXTS, name: str = "answered", metadata: str = METADATA) -> Path:
    """LongEval's zip of these answers, with positions for citations, and what is said of the run."""
    lines = []
    for topic, segments in texts.items():
        references = list(dict.fromkeys(docno for _, docnos in segments for docno in docnos)) or ["d0"]
        said = [
            {"text": text, "citations": [references.index(docno) for docno in docnos]}
            for text, docnos in segments
        ]
        facts = {"team_id": "u", "run_id": name, "narrative_id": topic, "type": "automatic"}
        lines.append({"metadata": facts, "references": references, "answer": said})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("generated-responses.jsonl", "".join(f"{json.dumps(one)}\n" for one in lines))
        archive.writestr("ir-metadata.yml", metadata)
    return path


def submit(
    database: Database, folder: Path, texts: Texts = TEXTS, name: str = "answered", **options: Any
) -> Submission:
    """What became of a file of answers."""
    return build.submit(database, run_file(folder, texts, name), options.pop("slug", "answers"), **options)


def run(
    database: Database, folder: Path, texts: Texts = TEXTS, name: str = "answered", **options: Any
) -> int:
    """The id of an accepted run of answers."""
    submission = submit(database, folder, texts, name, **options)
    assert submission.run_id is not None, submission.report
    return submission.run_id
