"""Nuggets and labels of the two sites: on public topics alike, on others whatever only one site knows."""

from collections.abc import Collection, Mapping
from pathlib import Path

from leaderboard.db.engine import Database
from leaderboard.trec.nuggets.packing import MadeBy, Part
from tests.make import answered, answers, nuggeted

MADE_BY: dict[Part, MadeBy] = {"assignments": MadeBy("machine", "GPT-4o"), "support": MadeBy()}
"""Who made them, as is known of judgments by a machine before anything else is."""
RUNS = ("own-answers", "other-answers")
Labels = Mapping[str, tuple[str, str]]
PUBLIC: Labels = {"known to all": ("vital", "support"), "of both": ("okay", "partial_support")}
HELD_BACK: Mapping[str, Labels] = {
    "a": {**PUBLIC, "known to a": ("vital", "support"), "told by a": ("okay", "failed")},
    "b": {"known to b": ("vital", "not_support"), "of both": ("vital", "support")},
}


def revise(database: Database, folder: Path, secret: str, public: Collection[str]) -> None:
    """A revision in the world of a secret; of the topics that are held back world b has one less."""
    held_back = [topic for topic in answered.TEXTS if topic not in public][secret == "b" :]
    assigned, supported = [], []
    for topic in (*public, *held_back):
        labels = PUBLIC if topic in public else HELD_BACK[secret]
        first = 0 if secret == "b" and topic not in public else 2
        for run in RUNS:
            assigned.append(answers.assigned(topic, labels, run=run))
            cited = [docnos if run == "own-answers" else ["one"] for _, docnos in answered.TEXTS[topic]]
            segments = ([first] if docnos else [] for docnos in cited)
            supported.append(answers.supported(topic, *segments, run=run))
    files = nuggeted.files(folder, assignments=assigned, support=supported)
    nuggeted.revise(database, files, MADE_BY, slug="answers")
    others: dict[Part, MadeBy] = {"assignments": MadeBy("machine", f"Known to {secret}")}
    nuggeted.revise(database, files, others, slug="answers", line=f"known to {secret}")
