"""Judgments of answers as a revision of judgments like any other."""

from dataclasses import dataclass

from leaderboard.services.nuggets.reading import WORDS
from leaderboard.services.qrels.files import PreparedQrels
from leaderboard.trec.nuggets.packing import PARTS, PackedAnswers, packed, sha256, unpacked

KIND = "answers"
_IMPORTANCES = {"failed": 0.0, "okay": 1.0, "vital": 2.0}
_LABELS = {"failed": -1.0, "not_support": 0.0, "partial_support": 0.5, "support": 1.0}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedAnswers(PreparedQrels):
    """Judgments of answers, read and packed."""

    answers: PackedAnswers

    @property
    def made_by(self) -> tuple[str, str] | None:
        """Machine where one made any part; in words who made which."""
        makers = self.answers.made_by
        is_machine = any(maker.kind != "human" for maker in makers.values())
        words = "; ".join(f"{WORDS[part]} by {makers[part]}" for part in PARTS if part in makers)
        return ("machine" if is_machine else "human"), (words if is_machine else "")

    @property
    def topics(self) -> list[str]:
        """The topics with nuggets or labels, in byte order."""
        return self.answers.topics

    @property
    def size(self) -> int:
        """How many labels there are."""
        return self.answers.labels

    @property
    def facts(self) -> dict[tuple[str, ...], float]:
        """(topic, what, run, what of it) -> a number that tells labels apart, nuggets by their importance."""
        judged = self.answers.judgments
        facts: dict[tuple[str, ...], float] = {
            (topic, "nugget", "", nugget.text): _IMPORTANCES[nugget.importance]
            for topic, nuggets in judged.nuggets.topics.items()
            for nugget in nuggets
        }
        for (run, topic), cell in judged.assignments.cells.items() if judged.assignments else ():
            nuggets = judged.nuggets.topics[topic]
            for nugget, label in zip(nuggets, cell.labels, strict=True):
                facts[topic, "assignment", run, nugget.text] = _LABELS[label]
        for (run, topic), segments in judged.support.answers.items():
            for place, labels in enumerate(segments.labels):
                for citation, support in enumerate(labels):
                    facts[topic, "support", run, f"{place} {citation}"] = float(support)
        for (run, topic), argued in judged.argued.cells.items():
            for place, one in enumerate(argued.sentences):
                word = f"{place} {one.citations} {one.relevant} {one.needs}"
                facts[topic, "sentence", run, word] = float(one.supporting)
        return facts


def of_answers(answers: PackedAnswers, file_name: str = "") -> PreparedAnswers:
    """Judgments of answers, prepared; their digest is that of their canonical text."""
    return _prepared(answers, packed(answers), file_name)


def of_packed(stored: bytes, file_name: str) -> PreparedAnswers:
    """What a revision holds; raises Damaged."""
    return _prepared(unpacked(stored), stored, file_name)


def _prepared(answers: PackedAnswers, stored: bytes, file_name: str) -> PreparedAnswers:
    return PreparedAnswers(
        file_name=file_name,
        sha256=sha256(answers),
        kind=KIND,
        judgments={},
        rows=(),
        packed=stored,
        warnings=answers.judgments.nuggets.notes,
        answers=answers,
    )
