"""Make the shipped judgments of the demo's answers from the labels, and count what they amount to.

An answer holds a nugget as well as the best of its segments does. Writes nuggets, assignments, the support
labels of both machines, and ANSWERS.json with counts and the agreement of the two.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from demo import second_labels
from demo.answer_files import ANSWERS, read_all
from demo.answer_labels import (
    HELD,
    IN_PART,
    NOT_HELD,
    Answers,
    Held,
    Support,
    complete,
    copied,
    key_of,
    nuggets,
)
from demo.assemble_qrels import kappa

WORDS = {NOT_HELD: "not_support", IN_PART: "partial_support", HELD: "support"}
FACTS = "ANSWERS.json"


def assigned(answers: Answers, held: Held) -> second_labels.Assigned:
    """(run, topic) -> the label of each nugget: the best of the answer's segments."""
    return {
        (run, topic): [
            max((held[topic, key_of(text)].get(number, NOT_HELD) for text, _ in segments), default=NOT_HELD)
            for number in range(1, len(nuggets()[topic]) + 1)
        ]
        for run, by_topic in answers.items()
        for topic, segments in by_topic.items()
    }


def assignment_lines(labels: second_labels.Assigned, answers: Answers) -> Iterable[dict[str, Any]]:
    """The lines of a file of assignments, in the order of the labels."""
    for (run, topic), values in labels.items():
        named = [
            one | {"assignment": WORDS[value]} for one, value in zip(nuggets()[topic], values, strict=True)
        ]
        text = " ".join(text for text, _ in answers[run][topic])
        yield {"qid": topic, "run_id": run, "answer_text": text, "nuggets": named}


def support_lines(labels: Support, answers: Answers) -> Iterable[dict[str, Any]]:
    """The lines of a file of support labels of whole answers."""
    for run, by_topic in answers.items():
        for topic, segments in by_topic.items():
            sentences = [
                {
                    "sentenceID": place,
                    "citations": [
                        {"citationID": at, "reference": docno, "support": labels[topic, key_of(text), docno]}
                        for at, docno in enumerate(docnos)
                    ],
                }
                for place, (text, docnos) in enumerate(segments)
            ]
            yield {"run_id": run, "topic_id": topic, "sentences": sentences}


def agreement(pairs: list[tuple[int, int]]) -> dict[str, float | int]:
    """How far two machines agree on labels that both gave, from 0 to 2."""
    return {
        "labels": len(pairs),
        "same": round(sum(one == other for one, other in pairs) / len(pairs), 4),
        "kappa": round(kappa(pairs, lambda one, other: float(one != other)), 4),
        "kappa_linear": round(kappa(pairs, lambda one, other: float(abs(one - other))), 4),
    }


def assemble(folder: Path = ANSWERS) -> Mapping[str, Any]:
    """Write every file, and return what ANSWERS.json says; raises SystemExit where a label is missing."""
    answers = read_all()
    held, support = complete(answers)
    labels, second, shared = assigned(answers, held), second_labels.assignments(answers), copied(answers)
    second_support = second_labels.support(answers)
    folder.mkdir(parents=True, exist_ok=True)
    sets = (Path(__file__).parent / "judgments" / "nuggets.jsonl").read_text("utf-8")
    (folder / "nuggets.jsonl").write_text(sets, encoding="utf-8")
    _write(folder / "assignments.jsonl", assignment_lines(labels, answers))
    _write(folder / "support.jsonl", support_lines(support, answers))
    _write(folder / "support-words.jsonl", support_lines(second_support, answers))
    read = [key for key in support if key not in shared]
    both = [pair for key, given in second.items() for pair in zip(labels[key], given, strict=True)]
    facts = {
        "topics": len(nuggets()),
        "runs": len(answers),
        "nuggets": sum(map(len, nuggets().values())),
        "vital": sum(one["importance"] == "vital" for ones in nuggets().values() for one in ones),
        "assignments": sum(map(len, labels.values())),
        "segments": len(held),
        "pairs": len(support),
        "copied_pairs": len(shared),
        "second_topics": list(second_labels.ASSIGNED),
        "assignment_agreement": agreement(both),
        "support_agreement": agreement([(support[key], second_support[key]) for key in read]),
    }
    (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return facts


def _write(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def main() -> None:
    """Write the judgments and print what they amount to."""
    print(json.dumps(assemble(), indent=2))


if __name__ == "__main__":
    main()
