"""Combined boards of people and a machine against a known truth: `python -m benchmarks.combined --help`.

A made-up task: topics, documents with people's grades, and runs that find them more or less well. A machine
labels all documents, well or badly; people label a share. The truth is a run's mean score by people over all
topics that were made; a board has fifty of them, drawn with replacement. Per board: how many of the 95 %
intervals of differences hold the truth, how many of the true differences Holm's correction finds at 5 %, and
whether any pair is found the wrong way round.

With --favour: how often a machine that knows no team is said to favour one, and how often a machine that
lifts one team is found.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.combined import measures, planning
from leaderboard.stats.combined.labels import Labels, gain_of, relevant_from
from leaderboard.stats.combined.planning import Favour, favours
from leaderboard.stats.combined.sample import inclusion, weights
from leaderboard.stats.combined.whole_topics import WholeTopics, believed, pair_table
from leaderboard.stats.pairs.methods import PairTable, all_pairs, method

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TOPICS, DOCUMENTS, RUNS = 300, 100, 24
"""Made; a board has fewer topics."""
OF_BOARD, DEPTH, JUDGED_TOPICS = 50, 10, 10
GRADES = (0.72, 0.15, 0.09, 0.04)
TEAMS, RUNS_OF_TEAM = 20, 3
LIFT = 0.076
"""What the machine that favours a team gives its runs."""
SEED = 20261123
Machine = Callable[["World", np.random.Generator], IntArray]


class World(NamedTuple):
    """Grades by people (topics, documents), each run's documents (runs, topics, documents), best first."""

    people: IntArray
    rankings: IntArray
    weight: FloatArray
    """(topics, documents): how near the runs have a document to their tops."""
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
    return World(people, rankings, _weight(rankings), scores.mean(axis=1))


def keeping(share: float, lift: float = 0.0) -> Machine:
    """A machine with a share of people's grades, others random, that over-rates a share by one."""

    def label(world: World, random: np.random.Generator) -> IntArray:
        kept = random.random(world.people.shape) < share
        grades = np.where(kept, world.people, random.choice(len(GRADES), p=GRADES, size=world.people.shape))
        return np.minimum(grades + (random.random(grades.shape) < lift), len(GRADES) - 1)

    return label


def circular(world: World, random: np.random.Generator) -> IntArray:
    """A machine half of whose labels depend on the third run's rank of the document."""
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
BLIND = (
    (0.0, "up"),
    (0.1, "up"),
    (0.2, "up"),
    (0.3, "up"),
    (0.4, "up"),
    (0.2, "both"),
    (0.4, "both"),
    (0.4, "any"),
    (0.3, "down"),
    (0.6, "popular up"),
)
COLUMNS = (
    "machine only",
    "people, 10 topics",
    "10 whole topics and machine",
    "sample",
    "sample, no machine",
    "all judged",
)


def tables(world: World, machine: IntArray, share: float, random: np.random.Generator) -> list[PairTable]:
    """All pairs of runs of one board, by the method of each column."""
    chosen = random.integers(TOPICS, size=OF_BOARD)
    people, labels = world.people[chosen], machine[chosen]
    rankings = world.rankings[:, chosen, :DEPTH]
    placed = _placed(rankings)
    probability = inclusion(world.weight[chosen].reshape(-1), share).reshape(people.shape)
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


def of_teams() -> World:
    """A task of twenty teams with three runs each, which share most of what they see."""
    random = np.random.default_rng(SEED)
    people = random.choice(len(GRADES), p=GRADES, size=(TOPICS, DOCUMENTS))
    shared, hard = random.normal(size=people.shape), random.normal(scale=0.4, size=TOPICS)[:, None]
    rankings = []
    for quality in np.sort(random.beta(4, 4, TEAMS))[::-1]:
        of_team = random.normal(scale=0.8, size=people.shape)
        for _ in range(RUNS_OF_TEAM):
            seen = (0.5 + quality + random.normal(scale=0.05)) * (1 + hard) * people
            own = random.normal(scale=0.6, size=people.shape)
            rankings.append(np.argsort(-(seen + 0.7 * shared + of_team + own), axis=-1))
    return World(people, np.array(rankings), _weight(np.array(rankings)), np.zeros(0))


def moving(share: float, how: str) -> Machine:
    """A machine that changes a share of people's grades: `up` or `down` by one, `both` ways, to `any` grade.

    With `popular up` it is the share where all runs have the document first, less the further down.
    """

    def label(world: World, random: np.random.Generator) -> IntArray:
        people, top = world.people, len(GRADES) - 1
        often = share * world.weight / world.weight.max() if how == "popular up" else share
        moved = {
            "up": lambda: people + 1,
            "popular up": lambda: people + 1,
            "down": lambda: people - 1,
            "both": lambda: people + random.choice((-1, 1), size=people.shape),
            "any": lambda: random.integers(0, top + 1, size=people.shape),
        }[how]()
        return np.clip(np.where(random.random(people.shape) < often, moved, people), 0, top)

    return label


def lifting(team: int, share: float) -> Machine:
    """A machine that over-rates a fifth, and grades a share by a team's first run."""

    def label(world: World, random: np.random.Generator) -> IntArray:
        rank = np.argsort(world.rankings[team * RUNS_OF_TEAM], axis=-1)
        own = np.where(rank < 4, 3, np.where(rank < 10, 2, np.where(rank < 20, 1, 0)))
        return np.where(random.random(rank.shape) < share, own, moving(0.2, "up")(world, random))

    return label


def flagged(
    world: World, machine: Machine, measure: str, share: float, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Which teams one board calls favoured."""
    found = board_favours(world, machine, measure, share, random)
    return np.array([one is not None and one.is_favoured for one in found])


def lifting_by(world: World, team: int, measure: str) -> Machine:
    """The machine whose scores of a team rise by LIFT more than those of the others, for grading by it."""

    def risen(share: float) -> float:
        scores = [_by_machine(world, lifting(team, part), measure) for part in (0.0, share)]
        rises = (scores[1] - scores[0]).reshape(TEAMS, RUNS_OF_TEAM).mean(axis=1)
        return float(rises[team] - np.delete(rises, team).mean())

    low, high = 0.0, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (middle, high) if risen(middle) < LIFT else (low, middle)
    return lifting(team, high)


def favour_table(boards: int, share: float) -> None:
    """Print how often any team is flagged by blind machines, and of lifted teams how often and from where."""
    world = of_teams()
    heads = ("machine", "measure", "a team flagged", "the lifted team found", "its favour", "would show from")
    print(f"| {' | '.join(heads)} | another flagged |\n|{'---|' * (1 + len(heads))}")
    for measure in ("nDCG@10", "P@10"):
        machines = [(f"moves {part:.0%} {how}", None, moving(part, how)) for part, how in BLIND]
        machines += [
            (f"lifts team {team + 1} of {TEAMS}", team, lifting_by(world, team, measure))
            for team in (0, TEAMS // 2, TEAMS - 1)
        ]
        for name, team, machine in machines:
            random = np.random.default_rng(SEED)
            made = [board_favours(world, machine, measure, share, random) for _ in range(boards)]
            said = np.array([[one is not None and one.is_favoured for one in found] for found in made])
            cells = [f"{said.any(axis=1).mean():.3f}", "", "", "", ""]
            if team is not None:
                of_team = [one for found in made if (one := found[team]) is not None]
                others = np.delete(said, team, axis=1).any(axis=1).mean()
                means = (np.mean([getattr(one, of) for one in of_team]) for of in ("mean", "visible"))
                cells = [
                    "",
                    f"{said[:, team].mean():.3f}",
                    *(f"{mean:.3f}" for mean in means),
                    f"{others:.3f}",
                ]
            print(f"| {name} | {measure} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--boards", type=int, default=200)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--favour", action="store_true", help="whom machines are said to favour")
    options = parser.parse_args()
    if options.favour:
        favour_table(options.boards, options.share)
        return
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


def board_favours(
    world: World, machine: Machine, measure: str, share: float, random: np.random.Generator
) -> tuple[Favour | None, ...]:
    """The favoured teams of one board, where people judge a share of the documents."""
    chosen = random.permutation(TOPICS)[:OF_BOARD]
    people, graded = world.people[chosen], machine(world, random)[chosen]
    placed = _placed(world.rankings[:, chosen, :DEPTH])
    probability = inclusion(world.weight[chosen].reshape(-1), share).reshape(people.shape)
    drawn = np.where(random.random(people.shape) < probability, people, -1)
    labels = _labels(graded, drawn, probability)
    weigh, value_of = {"nDCG@10": (planning.ndcg, gain_of), "P@10": (planning.precision, relevant_from(1))}[
        measure
    ]
    counts = planning.on_judged(labels, placed, weigh(labels, placed, cutoff=DEPTH))
    teams = np.arange(TEAMS * RUNS_OF_TEAM).reshape(TEAMS, RUNS_OF_TEAM).tolist()
    return favours(labels, value_of, counts, teams)


def _by_machine(world: World, machine: Machine, measure: str) -> FloatArray:
    """The runs' means by the machine over all topics, (runs,)."""
    # Not the seed of the world: the machine would err by the very numbers that made people's grades.
    graded = machine(world, np.random.default_rng(SEED + 1))
    labels = _labels(graded, graded, np.ones(graded.shape))
    scores = measures.ndcg if measure == "nDCG@10" else measures.precision
    return scores(labels, _placed(world.rankings[:, :, :DEPTH]), cutoff=DEPTH).mean(axis=1)


def _weight(rankings: IntArray) -> FloatArray:
    """The weight of each document in the runs, (topics, documents)."""
    ranks = np.argsort(rankings, axis=-1) + 1
    return np.array([weights(ranks[:, topic]) for topic in range(TOPICS)])


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
