"""Make the boards of two simple judges of the demo's answers: programs that see topics and answers alone.

Neither knows nuggets, labels or documents. Values are of one answer to one topic; the mean over the topics is
added as topic `all`.
"""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from demo.answer_files import read_all
from demo.answering import Weights, weights
from demo.make_answers import asked
from demo.texts import FOLDER, Topic, documents, words
from leaderboard.demo.answers import UNRANKED

BOARDS = FOLDER / "judges"
HEAD = "run_id query_id measure value"
Judge = Callable[[Weights, Topic, str], float]


def overlap(weighted: Weights, topic: Topic, answer: str) -> float:
    """The share of the topic's words, weighted by ln(N / df), that the answer has: long answers have more."""
    wanted = _terms(topic)
    return weighted.of(wanted & frozenset(words(answer))) / weighted.of(wanted)


def similarity(weighted: Weights, topic: Topic, answer: str) -> float:
    """The cosine of the weighted words of topic and answer, which is blind to the answer's length."""
    return weighted.similarity(_terms(topic), frozenset(words(answer)))


JUDGES: dict[str, tuple[str, Judge]] = {
    "word-overlap": ("OVERLAP", overlap),
    "tfidf-similarity": ("COSINE", similarity),
}
"""Name of the judge -> the measure in its file, and what gives a value."""


def board(measure: str, judge: Judge) -> str:
    """A board file over every ranked run and topic."""
    weighted, topics, lines = weights(documents()), asked(), [HEAD]
    for run, answers in read_all().items():
        if run in UNRANKED:
            continue
        values = {
            topic: round(judge(weighted, topics[topic], " ".join(text for text, _ in segments)), 4)
            for topic, segments in answers.items()
        }
        lines += [f"{run} {topic} {measure} {value:.4f}" for topic, value in values.items()]
        lines.append(f"{run} all {measure} {fmean(values.values()):.4f}")
    return "".join(f"{line}\n" for line in lines)


def write(folder: Path = BOARDS) -> list[Path]:
    """Write the board of each judge."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (measure, judge) in JUDGES.items():
        paths.append(folder / f"{name}.txt")
        paths[-1].write_text(board(measure, judge), encoding="ascii")
    return paths


def _terms(topic: Topic) -> frozenset[str]:
    return frozenset(words(f"{topic.title} {topic.description} {topic.narrative}"))


def main() -> None:
    """Write the boards and say where."""
    for path in write():
        print(path)


if __name__ == "__main__":
    main()
