"""What boards of people and a machine say, against a known truth: `python -m benchmarks.combined --help`.

A made-up task: topics, documents with people's grades, and runs that find them more or less well. A machine
labels all documents, well or badly; people label a share. The truth is a run's mean score by people over all
topics that were made; a board has fifty of them, drawn with replacement. Per board: how many of the 95 %
intervals of differences hold the truth, how many of the true differences Holm's correction finds at 5 %, and
whether any pair is found the wrong way round.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.combined import measures
from leaderboard.stats.combined.labels import Labels
from leaderboard.stats.combined.sample import inclusion, weights
from leaderboard.stats.combined.whole_topics import WholeTopics, believed, pair_table
from leaderboard.stats.pairs.methods import PairTable, all_pairs, method

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TOPICS, DOCUMENTS, RUNS = 300, 100, 24
"""Made; a board has fewer topics."""
OF_BOARD, DEPTH, JUDGED_TOPICS = 50, 10, 10
GRADES = (0.72, 0.15, 0.09, 0.04)
SEED = 20261123
Machine = Callable[["World", np.random.Generator], IntArray]


class World(NamedTuple):
    """Grades by people (topics, documents), each run's documents (runs, topics, documents), best first."""

    people: IntArray
    rankings: IntArray
    truth: FloatArray
    """(runs,)"""


def made() -> World:
    """The task: runs see people's grades through noise of their own and noise that all share."""
    random = np.random.default_rng(SEED)
    people = random.choice(len(GRADES), p=GRADES, size=(TOPICS, DOCUMENTS))
    shared = random.normal(size=(TOPICS, DOCUMENTS))
    hard = random.normal(scale=0.4, size=TOPICS)[:, None]
    quality = np.sort(random.beta(4, 4, RUNS))[::-1]
    seen = [
        (0.5 + one) * (1 + hard) * people + 0.7 * shared + random.normal(size=people.shape) for one in quality
    ]
    rankings = np.argsort(-np.array(seen), axis=-1)
    everything = _labels(people, people, np.ones(people.shape))
    scores = measures.ndcg(everything, _placed(rankings[:, :, :DEPTH]), cutoff=DEPTH)
    return World(people, rankings, scores.mean(axis=1))


def keeping(share: float, lift: float = 0.0) -> Machine:
    """A machine that has so many of people's grades, others by chance, and over-rates a share by one."""

    def label(world: World, random: np.random.Generator) -> IntArray:
        kept = random.random(world.people.shape) < share
        grades = np.where(kept, world.people, random.choice(len(GRADES), p=GRADES, size=world.people.shape))
        return np.minimum(grades + (random.random(grades.shape) < lift), len(GRADES) - 1)

    return label


def circular(world: World, random: np.random.Generator) -> IntArray:
    """A machine half of whose labels come of where the third run has the document."""
    grades = keeping(0.5)(world, random)
    rank = np.argsort(world.rankings[2], axis=-1)
    own = np.where(rank < 4, 3, np.where(rank < 10, 2, np.where(rank < 20, 1, 0)))
    return np.where(random.random(grades.shape) < 0.5, own, grades)


def bad_on_half(world: World, random: np.random.Generator) -> IntArray:
    """A machine that is right in seven of ten on half of the topics, and guesses on the others."""
    good, guess = keeping(0.7)(world, random), keeping(0.0)(world, random)
    return np.where((np.arange(TOPICS) % 2 == 0)[:, None], good, guess)


MACHINES: Mapping[str, Machine] = {
    "keeps .3": keeping(0.3),
    "keeps .5": keeping(0.5),
    "keeps .7": keeping(0.7),
    "keeps .5, over-rates 35 %": keeping(0.5, 0.35),
    "circular for one team": circular,
    "bad on half the topics": bad_on_half,
}
COLUMNS = (
    "machine only",
    "people, 10 topics",
    "10 whole topics and machine",
    "sample",
    "sample, no machine",
    "all judged",
)


def tables(world: World, machine: IntArray, share: float, random: np.random.Generator) -> list[PairTable]:
    """All pairs of runs of one board by what each column goes by."""
    chosen = random.integers(TOPICS, size=OF_BOARD)
    people, labels = world.people[chosen], machine[chosen]
    rankings = world.rankings[:, chosen, :DEPTH]
    placed = _placed(rankings)
    ranks = np.argsort(world.rankings[:, chosen], axis=-1) + 1
    weight = np.concatenate([weights(ranks[:, topic]) for topic in range(OF_BOARD)])
    probability = inclusion(weight, share).reshape(people.shape)
    drawn = np.where(random.random(people.shape) < probability, people, -1)
    every = np.ones(people.shape)
    by_people = measures.ndcg(_labels(people, people, every), placed, cutoff=DEPTH)
    by_machine = measures.ndcg(_labels(labels, labels, every), placed, cutoff=DEPTH)
    whole = WholeTopics(by_people[:, :JUDGED_TOPICS], by_machine, np.arange(JUDGED_TOPICS))
    by_columns = [
        by_machine,
        by_people[:, :JUDGED_TOPICS],
        measures.ndcg(_labels(labels, drawn, probability), placed, cutoff=DEPTH),
        measures.ndcg(_labels(np.zeros_like(labels), drawn, probability), placed, cutoff=DEPTH),
        by_people,
    ]
    compared = [all_pairs(scores, method("t+holm"), seed=SEED) for scores in by_columns]
    return [*compared[:2], pair_table(whole, believed(whole)), *compared[2:]]


def said(table: PairTable, truth: FloatArray) -> tuple[float, float, bool]:
    """Shares of intervals that hold the truth and of differences found, whether any is the wrong way."""
    first, second = np.triu_indices(len(truth), 1)
    difference = truth[first] - truth[second]
    found = table.adjusted < 0.05
    right = np.sign(table.difference) == np.sign(difference)
    holds = (table.low <= difference) & (difference <= table.high)
    return float(holds.mean()), float((found & right).mean()), bool((found & ~right).any())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--boards", type=int, default=200)
    parser.add_argument("--share", type=float, default=0.2)
    options = parser.parse_args()
    world = made()
    print(f"| machine | {' | '.join(COLUMNS)} |\n|{'---|' * (1 + len(COLUMNS))}")
    for name, machine in MACHINES.items():
        random = np.random.default_rng(SEED)
        labels = machine(world, random)
        rows = [
            [said(table, world.truth) for table in tables(world, labels, options.share, random)]
            for _ in range(options.boards)
        ]
        means = np.array(rows, dtype=np.float64).mean(axis=0)
        cells = (" / ".join(f"{value:.3f}" for value in column) for column in means.tolist())
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _labels(machine: IntArray, people: IntArray, probability: FloatArray) -> Labels:
    topics, documents = machine.shape
    return Labels(
        topic=np.repeat(np.arange(topics), documents),
        machine=machine.reshape(-1),
        people=people.reshape(-1),
        probability=probability.reshape(-1),
        topics=topics,
    )


def _placed(rankings: IntArray) -> IntArray:
    """Documents as their places in the labels."""
    return rankings + DOCUMENTS * np.arange(rankings.shape[1])[None, :, None]


if __name__ == "__main__":
    main()
