"""Print the sheets that the demo's answers were labelled from, for one topic or several.

A sheet has the distinct segments of a topic in an order drawn by chance, each with a document that it cites,
and then each segment with a document that it is not copied from, without a trace of runs.
"""

import argparse
import random
from collections.abc import Iterator

from demo.answer_files import CHOSEN, read_all
from demo.answer_labels import Answers, cited, copied, key_of, nuggets, segments
from demo.texts import documents, topics

SEED = 20261125
SHOWN_CHARACTERS = 1500


def sheet(topic: str, answers: Answers) -> Iterator[str]:
    """The lines of one topic's sheet."""
    asked = next(one for one in topics() if one.number == topic)
    yield from (f"# {topic}: {asked.title}", "", asked.description, "")
    yield from (f"{number}. {one['text']}" for number, one in enumerate(nuggets()[topic], start=1))
    texts = [text for number, text in segments(answers) if number == topic]
    random.Random(f"{SEED} {topic}").shuffle(texts)
    source = {text: docno for number, text, docno in cited(answers) if number == topic}
    yield from ("", *(f"{key_of(text)}\t{source.get(text, '-')}\t{text}" for text in texts), "")
    by_docno, known = {one.docno: one.text for one in documents()}, copied(answers)
    for number, text, docno in cited(answers):
        if number == topic and (topic, key_of(text), docno) not in known:
            yield f"{key_of(text)}\t{docno}\t{text}"
            yield f"\t{' '.join(by_docno[docno][:SHOWN_CHARACTERS].split())}"


def main() -> None:
    """Print the sheets of the topics that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="*", default=CHOSEN)
    answers = read_all()
    for topic in parser.parse_args().topics:
        print("\n".join(sheet(topic, answers)))


if __name__ == "__main__":
    main()
