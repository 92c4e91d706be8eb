"""The files that the commands of docs/commands.md are about."""

import subprocess
from pathlib import Path

from tests.make import answers, build, leaves, pictures, suites

JUDGMENTS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 0, "d": 1}, "3": {"e": 3}}


def files_of_commands(folder: Path) -> None:
    """Write topics, judgments, runs, answers and the rest by the names that the list uses."""
    (folder / "README.md").write_text("Be fair.")
    build.topics_file(folder).rename(folder / "topics.txt")
    build.qrels_file(folder, JUDGMENTS)
    build.qrels_file(folder, {**JUDGMENTS, "2": {"d": 2, "x": 0}}, "qrels-v2")
    rankings = {"1": ["a", "c"], "2": ["d", "a"], "3": ["e"]}
    build.run_file(folder, rankings)
    build.run_file(folder, {**rankings, "2": ["a", "d"]}, "other")
    (folder / "runs").mkdir()
    for name in ("one", "two"):
        path = build.run_file(folder / "runs", rankings, name)
        subprocess.run(["gzip", str(path)], check=True)
    build.click_log(folder)
    pictures.file(folder, pictures.saved(pictures.flag(), "PNG"), "logo.png")
    pictures.file(folder, pictures.saved(pictures.flag(), "JPEG"), "photo.jpg")
    (folder / "distractors.txt").write_text("y\nz\n")
    (folder / "left-out.txt").write_text("1 b\n")
    suites.suite_file(folder)
    suites.zipped(folder / "mine.zip", suites.files(dict.fromkeys(suites.MEMBERS, 1)))
    leaves.add("of_documents", folder)
    for at, name in enumerate(("reference", "judge", "judge-2")):
        rows = [f"r{run} M t{topic} {(at + run * topic) % 5}" for run in range(4) for topic in range(6)]
        (folder / f"{name}.board").write_text("run measure topic value\n" + "\n".join(rows))
    answers.jsonl(folder / "answers.jsonl", [answers.answer("1", ("Air.", ["a"]))])
    answers.jsonl(folder / "answer-topics.jsonl", [{"id": "1", "title": "why is the sky blue"}])
    answers.jsonl(folder / "assignments.jsonl", [answers.assigned("1", {"air": ("vital", "support")})])
    answers.jsonl(folder / "support.jsonl", [answers.supported("1", [2])])
    (folder / "judge-topics.txt").write_text("".join(f"t{topic}\ttitle\n" for topic in range(6)))
