"""Nuggets and assignments that others published, as a judge sends them; skipped where they are absent."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile

from leaderboard.db.engine import Database
from leaderboard.trec.nuggets.sets import Nugget, read_nuggets
from tests.judges import make as judging
from tests.judges.ops.test_parts import problems, send, values
from tests.make import answers, build, nuggeted
from tests.trec.answers.test_samples import there

PEOPLE = {"a fact": ("vital", "support")}


def judged(database: Database, folder: Path, runs: Sequence[str], topics: Sequence[str]) -> None:
    """A task of judges whose reference is by people's one nugget, which every answer holds."""
    nuggeted.task(database, folder, "said", topics=topics)
    for run in runs:
        lines = [answers.answer(topic, ("A fact.", ["d1"]), run=run) for topic in topics]
        nuggeted.run(database, folder, run, lines, slug="said")
    labels = [answers.assigned(topic, PEOPLE, run=run) for run in runs for topic in topics]
    nuggeted.revise(database, nuggeted.files(folder, assignments=labels), slug="said")
    build.drain(database)
    judging.task(database, folder, topics=topics)
    judging.refer_to(database, "said", measure="NuggetRecall(set='all')")
    build.drain(database)


def assignments(
    runs: Sequence[str], sets: Mapping[str, Sequence[Nugget]], held: int = 1
) -> list[answers.Line]:
    """Every run holds the first so many nuggets of each topic."""
    return [
        {
            "qid": topic,
            "run_id": run,
            "nuggets": [
                {"text": nugget.text, "assignment": "support" if place < held else "not_support"}
                for place, nugget in enumerate(nuggets)
            ],
        }
        for run in runs
        for topic, nuggets in sets.items()
    ]


def test_an_autojudges_nugget_bank(database: Database, tmp_path: Path, shared_data: Path) -> None:
    """122 topics in the v3 form, as they are, with assignments of its questions."""
    (bank,) = there(shared_data, "autojudge-kiddie/example-judge/nuggets.v3.jsonl")
    sets, runs = read_nuggets(bank).topics, ("A", "B", "C")
    judged(database, tmp_path, runs, list(sets))
    path = judging.archive(tmp_path, assignments=assignments(runs, sets))
    with ZipFile(path, "a") as archive:
        archive.write(bank, "oak/nuggets.v3.jsonl")
    made = send(database, path)
    assert values(database, made)["A"] == {topic: 1 / len(nuggets) for topic, nuggets in sets.items()}
    assert made.report is not None
    assert made.report.facts["topics"] == 122
    assert any("they count as okay" in warning.rule for warning in made.report.warnings)


def test_nuggets_of_the_runs_of_kiddie(database: Database, tmp_path: Path, shared_data: Path) -> None:
    """A judge's own nuggets of four sample runs, which are in the dialect `report`."""
    names = [f"run{number}" for number in range(1, 5)]
    files = there(shared_data, *(f"autojudge-kiddie/runs/{name}.jsonl" for name in names))
    lines = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
    topics = sorted({line["metadata"]["topic_id"] for run in lines for line in run})
    nuggeted.task(database, tmp_path, "said", topics=topics)
    for file, run in zip(files, names, strict=True):
        assert build.submit(database, file, "said").run_id is not None, run
    labels = [answers.assigned(topic, PEOPLE, run=run) for run in names for topic in topics]
    nuggeted.revise(database, nuggeted.files(tmp_path, assignments=labels), slug="said")
    build.drain(database)
    judging.task(database, tmp_path, topics=topics)
    judging.refer_to(database, "said", measure="NuggetRecall(set='all')")
    sets = {topic: (Nugget("one"), Nugget("two")) for topic in topics}
    own = [answers.nuggets(topic, one="okay", two="okay") for topic in topics]
    made = send(database, judging.archive(tmp_path, nuggets=own, assignments=assignments(names, sets)))
    assert values(database, made) == {run: dict.fromkeys(topics, 0.5) for run in names}


def test_the_nuggetizers_own_examples(database: Database, tmp_path: Path, shared_data: Path) -> None:
    """Its assignments name another nugget than its set: together they are refused, alone they go."""
    (document,) = there(shared_data, "nuggetizer-readme/input-output-examples.md")
    shown = re.findall(r"^```json\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)
    records = [json.loads(text) for text in shown if "..." not in text.replace('..."', '"')]
    (nuggets,) = [one for one in records if "nuggets" in one and "assignment" not in one["nuggets"][0]]
    (line,) = [one for one in records if one.get("run_id") == "run-123"]
    judged(database, tmp_path, ("run-123", "B", "C"), ["q1"])
    lines = [{**line, "run_id": run} for run in ("run-123", "B", "C")]
    found = problems(database, judging.archive(tmp_path, nuggets=[nuggets], assignments=lines))
    assert [one.line for one in found] == [1, 2, 3]
    assert "'Python supports multithreading' is not in the set" in found[0].rule
    made = send(database, answers.jsonl(tmp_path / "elm.jsonl", lines))
    assert values(database, made)["run-123"] == {"q1": 0.625}
