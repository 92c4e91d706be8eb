"""A field of runs of answers with verdicts, generated: every number in it follows from the seed."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from leaderboard.db.engine import Database
from leaderboard.trec.nuggets.packing import MadeBy
from tests.make import answers, build, nuggeted

WORDS = (
    *("salt", "rivers", "carry", "rain", "clouds", "light", "blue", "air", "scatters"),
    *("sea", "minerals", "rock", "time", "waves", "moon", "tide"),
)
LABELS = ("support", "partial_support", "not_support")
MODELS = ("GPT-4o", "Llama 3.1", "Qwen 2.5", "")
"""What runs say of their models, one after the other; the last says nothing."""
JUDGE = "GPT-4.1"
Key = tuple[str, str]
"""Run and topic."""


@dataclass(frozen=True)
class AnsweredField:
    """What was generated: nuggets (text, importance) of topics, and by run and topic answers and labels.

    A run has no labels on a topic where nobody judged it, and no answer where it sent none.
    """

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    nuggets: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    texts: dict[Key, list[tuple[str, list[str]]]] = field(default_factory=dict)
    labels: dict[Key, list[str]] = field(default_factory=dict)
    support: dict[Key, list[list[int]]] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)


def generated(runs: int, topics: int, seed: int = 7) -> AnsweredField:
    """The field of a seed; on the first topic the last run is not judged, the one before does not answer."""
    rng = random.Random(seed)
    made = AnsweredField(
        tuple(f"run-{number:02}" for number in range(runs)),
        tuple(str(number) for number in range(301, 301 + topics)),
    )
    for topic in made.topics:
        importances = ["vital", "vital", *rng.choices(("vital", "okay"), k=rng.randint(4, 10))]
        made.nuggets[topic] = [
            (f"fact {at} of {topic}: {' '.join(rng.choices(WORDS, k=9))}", one)
            for at, one in enumerate(importances)
        ]
    for place, run in enumerate(made.runs):
        made.models[run] = MODELS[place % len(MODELS)]
        for topic in made.topics:
            _add_cell(made, rng, run, topic, skill=(place + 1) / runs)
    first = made.topics[0]
    del made.labels[made.runs[-1], first], made.support[made.runs[-1], first]
    for of in (made.texts, made.labels, made.support):
        del of[made.runs[-2], first]  # type: ignore[attr-defined]
    return made


def _add_cell(made: AnsweredField, rng: random.Random, run: str, topic: str, skill: float) -> None:
    segments = [
        (" ".join(rng.choices(WORDS, k=rng.randint(4, 20))).capitalize() + ".", _cited(rng))
        for _ in range(rng.randint(2, 8))
    ]
    made.texts[run, topic] = segments
    weights = (0.15 + 0.6 * skill, 0.2, 0.8 - 0.6 * skill)
    made.labels[run, topic] = rng.choices(LABELS, weights, k=len(made.nuggets[topic]))
    made.support[run, topic] = [
        rng.choices((2, 1, 0, -1), (4, 2, 2, 1), k=len(cited)) for _, cited in segments
    ]


def _cited(rng: random.Random) -> list[str]:
    return rng.sample([f"d{number}" for number in range(30)], rng.choice((0, 1, 1, 2, 3)))


def build_field(database: Database, folder: Path, made: AnsweredField, slug: str = "t") -> None:
    """A task with the field's runs, scored under its labels; run numbers are noted in `ids`."""
    nuggeted.task(database, folder, slug, topics=made.topics)
    for run in made.runs:
        lines = [
            answers.answer(topic, *made.texts[run, topic], run=run)
            for topic in made.topics
            if (run, topic) in made.texts
        ]
        made.ids[run] = nuggeted.run(
            database, folder, run, lines, slug=slug, team_name=f"Team {run}", llm=made.models[run]
        )
    parts = nuggeted.files(folder, assignments=assigned(made, made.labels), support=_supported(made))
    makers = {"assignments": MadeBy("machine", JUDGE), "support": MadeBy()}
    nuggeted.revise(database, parts, makers, slug=slug)  # type: ignore[arg-type]
    build.drain(database)


def assigned(made: AnsweredField, labels: Mapping[Key, Sequence[str]]) -> Sequence[answers.Line]:
    """Lines of assignments: labels of the nuggets of each run and topic."""
    return [
        answers.assigned(
            topic,
            {
                text: (importance, label)
                for (text, importance), label in zip(made.nuggets[topic], given, strict=True)
            },
            run=run,
        )
        for (run, topic), given in labels.items()
    ]


def _supported(made: AnsweredField) -> Sequence[answers.Line]:
    return [answers.supported(topic, *labels, run=run) for (run, topic), labels in made.support.items()]
