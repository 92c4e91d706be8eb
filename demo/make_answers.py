"""Make the answers of the demo's second task: eleven runs of extracted sentences, and one that was written.

The written one, by a language-model assistant from the documents of a ranking, is kept in
demo/written_answers.json; every other run comes from the rankings and documents that ship.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from demo import answering, runfile
from demo.answer_files import ANSWERS, CHOSEN, AnsweringSystem, write
from demo.answering import SENTENCES, Answer, Segment
from demo.texts import FOLDER, Topic, documents, topics

WRITTEN = Path(__file__).parent / "written_answers.json"
DEPTH = 10
"""Documents of a ranking that a system sees."""
TOPICS = ANSWERS / "topics.jsonl"
MMR = {"lambda": 0.6, "depth": DEPTH}


def systems() -> list[tuple[AnsweringSystem, Answer]]:
    """The systems that extract sentences, by the names of their runs."""
    first = "The first sentence of each document, five in all"
    similar = "The five sentences of five documents most similar to title and description"
    twice = "The three most similar sentences, each citing one more document that resembles it"
    by_rank = "The four most similar sentences, each citing the document that is ranked first"
    made = [
        (AnsweringSystem("bm25", "lead", first), answering.lead),
        (AnsweringSystem("lsi", "lead", first), answering.lead),
        (AnsweringSystem("weak-counts", "lead", first), answering.lead),
        (AnsweringSystem("bm25", "query", similar, {"sentences": SENTENCES}), answering.by_query),
        (AnsweringSystem("minilm", "query", similar, {"sentences": SENTENCES}), answering.by_query),
        (AnsweringSystem("fusion-rrf", "query", similar, {"sentences": SENTENCES}), answering.by_query),
        (
            AnsweringSystem("fusion-rrf", "mmr", "Maximal marginal relevance over ten documents", MMR),
            answering.diverse,
        ),
        (
            AnsweringSystem("bm25", "long", "The first four sentences of each of three documents"),
            answering.long,
        ),
        (
            AnsweringSystem("minilm", "one", "Three sentences of the first document, one of them cited"),
            answering.one_document,
        ),
        (AnsweringSystem("fusion-rrf", "twice", twice), answering.cited_twice),
        (AnsweringSystem("bm25-desc", "by-rank", by_rank), answering.cited_by_rank),
    ]
    return sorted(made, key=lambda pair: pair[0].name)


def written() -> tuple[AnsweringSystem, dict[str, list[Segment]]]:
    """The run that a language-model assistant wrote, and its answers by topic."""
    system = AnsweringSystem(
        "minilm",
        "written",
        "Written by the machine that wrote the nuggets and judged the answers, a language-model assistant",
        libraries="none",
        prompt="The description, and the documents to be cited.",
    )
    given = json.loads(WRITTEN.read_text("utf-8"))
    return system, {
        topic: [(text, tuple(cited)) for text, cited in segments] for topic, segments in given.items()
    }


def asked() -> dict[str, Topic]:
    """The topics that are answered, by number."""
    return {topic.number: topic for topic in topics() if topic.number in CHOSEN}


def write_topics(chosen: Sequence[Topic]) -> None:
    """Write the topics that are answered as JSON lines."""
    lines = [
        json.dumps({"topic_id": one.number, "title": one.title, "description": one.description})
        for one in chosen
    ]
    TOPICS.parent.mkdir(parents=True, exist_ok=True)
    TOPICS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def extracted(
    system: AnsweringSystem, answer: Answer, weighted: answering.Weights
) -> dict[str, list[Segment]]:
    """The answers of a system by topic, from the ranking it is named by."""
    by_docno = {document.docno: document for document in documents()}
    rankings = runfile.read(FOLDER / "runs" / f"{system.ranking}.run.gz")
    return {
        number: answer(weighted, topic, [by_docno[docno] for docno, _ in rankings[number][:DEPTH]])
        for number, topic in asked().items()
    }


def main() -> None:
    """Write topics and every run."""
    chosen, weighted = asked(), answering.weights(documents())
    write_topics(list(chosen.values()))
    made = [(system, extracted(system, answer, weighted)) for system, answer in systems()]
    for system, answers in [*made, written()]:
        path = write(system, answers, chosen)
        segments = [segment for answer in answers.values() for segment in answer]
        print(f"{system.name:18} {len(segments):4} segments, {path.stat().st_size:6} bytes")


if __name__ == "__main__":
    main()
