"""Make the pool of the demo task and the blind sheets its documents are judged from.

demo/pool.tsv lists every pooled document with its best rank in any pooled run; it stays with the person
who assembles the judgments. A sheet shows a topic and the pooled documents in shuffled order, without a trace
of runs, ranks or scores.
"""

import argparse
import random
from pathlib import Path

from demo.runfile import read
from demo.texts import FOLDER, Document, Topic, documents, topics

POOL = Path(__file__).parent / "pool.tsv"
DEPTH = 8
UNPOOLED = frozenset({"minilm", "title-only"})
"""Runs left out of the pool, so that the board has runs with unjudged documents near the top."""
GRADES = {0: "not relevant", 1: "related", 2: "relevant", 3: "highly relevant (answers it)"}
SHOWN_CHARACTERS = 900
SEED = 20231101

Pool = dict[str, dict[str, int]]


def pool(folder: Path = FOLDER) -> Pool:
    """For every topic, the documents any pooled run has in its first ranks, each with its best rank."""
    best: Pool = {topic.number: {} for topic in topics(folder)}
    for path in sorted((folder / "runs").glob("*.run.gz")):
        if path.name.removesuffix(".run.gz") in UNPOOLED:
            continue
        for topic, entries in read(path).items():
            for rank, (docno, _) in enumerate(entries[:DEPTH], start=1):
                best[topic][docno] = min(rank, best[topic].get(docno, rank))
    return best


def write_pool(pooled: Pool, path: Path = POOL) -> None:
    """Write topic, docno and best rank, in byte order of the two names."""
    lines = [
        f"{topic}\t{docno}\t{pooled[topic][docno]}\n" for topic in pooled for docno in sorted(pooled[topic])
    ]
    path.write_text("".join(lines), encoding="ascii")


def read_pool(path: Path = POOL) -> Pool:
    """The pool as write_pool wrote it."""
    pooled: Pool = {}
    for line in path.read_text("ascii").splitlines():
        topic, docno, rank = line.split("\t")
        pooled.setdefault(topic, {})[docno] = int(rank)
    return pooled


def statement(topic: Topic) -> list[str]:
    """The lines at the top of a sheet: what is asked and what the grades mean."""
    lines = [f"# {topic.number}: {topic.title}", "", f"**Description.** {topic.description}", ""]
    lines += [f"**Narrative.** {topic.narrative}", ""]
    for number, subtopic in enumerate(topic.subtopics, start=1):
        lines.append(f"- Reading {number}: {subtopic}")
    lines += ["", "Grades: " + "; ".join(f"{grade} {name}" for grade, name in GRADES.items()) + ".", ""]
    return lines


def shown(document: Document) -> list[str]:
    """The lines of a sheet for one document."""
    text = document.text
    if len(text) > SHOWN_CHARACTERS:
        text = (
            text[:SHOWN_CHARACTERS].rsplit(maxsplit=1)[0]
            + f"\n[cut here; {len(document.text)} characters in all]"
        )
    return [f"## {document.docno}", "", f"Title: {document.title}", "", "```text", text, "```", ""]


def sheet(topic: Topic, pooled: list[Document]) -> str:
    """One judging sheet in Markdown, its documents in an order drawn from the topic's number."""
    shuffled = sorted(pooled, key=lambda document: document.docno)
    random.Random(f"{SEED} {topic.number}").shuffle(shuffled)
    lines = [*statement(topic), f"{len(pooled)} documents, in random order:", ""]
    for document in shuffled:
        lines += shown(document)
    return "\n".join(lines)


def main() -> None:
    """Write the pool and, where a folder is given, the sheets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sheets", type=Path, help="folder to write sheet-TOPIC.md files to")
    sheets: Path | None = parser.parse_args().sheets
    pooled = pool()
    write_pool(pooled)
    if sheets is not None:
        sheets.mkdir(parents=True, exist_ok=True)
        by_docno = {document.docno: document for document in documents()}
        for topic in topics():
            pooled_documents = [by_docno[docno] for docno in pooled[topic.number]]
            (sheets / f"sheet-{topic.number}.md").write_text(sheet(topic, pooled_documents), encoding="utf-8")
    print(f"{sum(map(len, pooled.values()))} documents to judge for {len(pooled)} topics")


if __name__ == "__main__":
    main()
