"""Times pools, and simulates every method on made-up runs: `python -m benchmarks.pooling --help`.

The runs are made up: each sees a topic's documents through its own noise, and teams share some of it. So
how methods compare on them says how the methods work, not how they would do on a real task.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks import measuring, table
from leaderboard.pooling import audit, simulation
from leaderboard.pooling.methods import BoundMethod, method, pool, start
from leaderboard.stats.orders.rank_correlation import tau_ap, tau_b

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

RUNS, TOPICS, DEPTH, TEAM = 100, 50, 100, 4
JUDGED = 1000
"""How many documents an assessor has judged who asks for the next one."""
SEED = 1
SHARES = np.array([0.1, 0.2, 0.3])
METHODS: Mapping[str, Mapping[str, object]] = {
    "take@N": {"name": "take"},
    "RRF": {"name": "rrf"},
    "Borda": {"name": "borda"},
    "DCG": {"name": "dcg"},
    "MTF": {"name": "mtf"},
    "MaxMean, all holders": {"name": "maxmean"},
    "MaxMean, own pulls": {"name": "maxmean", "credit": "own"},
    "MM-NS, all holders": {"name": "mm_ns"},
    "Thompson": {"name": "thompson"},
    "Thompson, own pulls": {"name": "thompson", "credit": "own"},
    "Hedge": {"name": "hedge"},
    "depth 1, then RRF": {"name": "staged", "depth": 1, "then": {"name": "rrf"}},
    "depth 1, then Hedge": {"name": "staged", "depth": 1, "then": {"name": "hedge"}},
    "random": {"name": "random"},
}


@dataclass(frozen=True)
class Topic:
    """Rankings of every run, and the relevance of the documents."""

    rankings: list[IntArray]
    relevant: NDArray[np.bool_]


def made_up(runs: int, topics: int, length: int, seed: int = SEED) -> list[Topic]:
    """Runs of teams of four over six times as many documents as a ranking is long.

    Every document has its worth, which makes it relevant or not; a run sees it through noise, part of it
    its own, part its team's, and part all runs': all are misled by the same documents. Teams, and
    their runs, differ in how much noise there is.
    """
    random = np.random.default_rng(seed)
    count, teams = 6 * length, -(-runs // TEAM)
    noise = np.exp(random.uniform(np.log(0.5), np.log(4.0), teams))
    noise = np.repeat(noise, TEAM)[:runs] * random.uniform(0.8, 1.25, runs)
    made = []
    for _ in range(topics):
        worth = random.normal(0, 1, count)
        cut = np.quantile(worth, random.uniform(0.9, 0.98))
        shared = np.sqrt(0.5) * (random.normal(0, 1, count) + random.normal(0, 1, (teams, count)))
        own = random.normal(0, 1, (runs, count))
        seen = worth + noise[:, None] * (0.8 * np.repeat(shared, TEAM, axis=0)[:runs] + 0.6 * own)
        made.append(Topic(list(np.argsort(-seen, axis=1)[:, :length]), worth >= cut))
    return made


def average_precision(topic: Topic, judged: NDArray[np.bool_]) -> FloatArray:
    """The AP of every run where only the documents judged are known to be relevant."""
    known = topic.relevant & judged
    hits = known[np.array(topic.rankings)]
    ranks = np.arange(1, hits.shape[1] + 1)
    return np.sum(np.cumsum(hits, axis=1) / ranks * hits, axis=1) / max(int(known.sum()), 1)


@dataclass(frozen=True)
class Simulated:
    """Recall at each share, the area under its curve; tau and tau_AP of MAP with MAP by all judgments."""

    recall: FloatArray
    area: float
    tau: list[float]
    tau_ap: list[float]


def simulated(bound: BoundMethod, topics: Sequence[Topic], depth: int) -> Simulated:
    """A method on the documents of a depth pool, all of which are judged."""
    after, relevant, full = [], [], []
    partial: list[list[FloatArray]] = [[] for _ in SHARES]
    for number, topic in enumerate(topics):
        pooled = np.unique(np.concatenate([ranking[:depth] for ranking in topic.rankings]))
        grades = dict(zip(pooled.tolist(), topic.relevant[pooled].astype(int).tolist(), strict=True))
        order = simulation.judging_order(bound, topic.rankings, grades, seed=number)
        judged_after = np.full(len(topic.relevant), simulation.NEVER)
        judged_after[pooled] = simulation.judged_after(order, pooled)
        after.append(judged_after[pooled])
        relevant.append(topic.relevant[pooled])
        full.append(average_precision(topic, judged_after <= 1))
        for scores, share in zip(partial, SHARES, strict=True):
            scores.append(average_precision(topic, judged_after <= share))
    truth = np.mean(full, axis=0)
    means = [np.mean(scores, axis=0) for scores in partial]
    every, relevance = np.concatenate(after), np.concatenate(relevant)
    return Simulated(
        simulation.recall(every, relevance, SHARES),
        simulation.area(every, relevance),
        [tau_b(scores, truth) or 0.0 for scores in means],
        [tau_ap(scores, truth) or 0.0 for scores in means],
    )


def pools(topics: Sequence[Topic], spec: Mapping[str, object]) -> Callable[[], object]:
    """The pools of all topics by a method."""
    bound = method(spec)
    return lambda: [pool(bound, topic.rankings, seed=SEED) for topic in topics]


def next_document(topic: Topic, spec: Mapping[str, object], judged: int) -> Callable[[], object]:
    """A judge started, and its next document after `judged` judgments of documents it gave."""
    bound = method(spec)
    relevant = dict(enumerate(topic.relevant.astype(int).tolist()))
    order = start(bound, topic.rankings, SEED).order(relevant)[:judged].tolist()
    grades = {document: relevant[document] for document in order}
    return lambda: start(bound, topic.rankings, SEED).next(grades)


def procedures() -> Iterator[tuple[str, Callable[[], object], float]]:
    """A timed procedure and its target in milliseconds; 0 without a target."""
    topics = made_up(RUNS, TOPICS, DEPTH)
    yield "pools, depth 100", pools(topics, {"name": "depth", "depth": DEPTH}), 300
    yield "pools, depth 10 then RRF", pools(topics, {"name": "staged", "then": {"name": "rrf"}}), 300
    yield "pools, fair take", pools(topics, {"name": "fair_take"}), 0
    yield "pools, stratified sample", pools(topics, {"name": "stratified"}), 0
    tops = [topic.rankings for topic in topics]
    teams = np.arange(RUNS) // TEAM
    everything = np.ones(6 * DEPTH, dtype=np.bool_)
    yield "unique documents", lambda: [audit.unique(top, teams, everything, everything) for top in tops], 0
    deep = made_up(RUNS, 1, 1000)[0]
    for name in (
        "Hedge",
        "MTF",
        "MaxMean, all holders",
        "MM-NS, all holders",
        "Thompson",
        "Thompson, own pulls",
    ):
        spec = {**METHODS[name], "depth": 1000}
        yield f"start, and next document after {JUDGED:,}, {name}", next_document(deep, spec, JUDGED), 30


def line(name: str, run: Callable[[], object], target: float, repeats: int) -> str:
    """A row of the table: the median of the wall time, and the target."""
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        spent.append(1000 * (time.perf_counter() - began))
    return f"| {name} | {median(spent):.1f} | {target or '':} |"


def simulation_line(name: str, topics: Sequence[Topic], depth: int) -> str:
    """A row of the table of methods."""
    began = time.perf_counter()
    outcome = simulated(method(METHODS[name]), topics, depth)
    spent = time.perf_counter() - began
    recall = " ".join(f"{value:.2f}" for value in outcome.recall)
    tau = " ".join(f"{value:.2f}" for value in outcome.tau)
    return f"| {name} | {recall} | {outcome.area:.3f} | {tau} | {outcome.tau_ap[0]:.2f} | {spent:.1f} |"


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pooling", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="how often (default: 5); medians are printed")
    parser.add_argument("--topics", type=int, default=30, help="topics of the simulation (default: 30)")
    given = parser.parse_args(arguments)
    print(table.facts(measuring.machine()), end="", flush=True)
    print(f"\n### {RUNS} runs, {TOPICS} topics, depth {DEPTH}\n")
    print("| procedure | milliseconds | target |\n| --- | ---: | ---: |", flush=True)
    for procedure in procedures():
        print(line(*procedure, given.repeats), flush=True)
    print(f"\n### Every method against all judgments of a depth-20 pool, {given.topics} topics\n")
    shares = "10 / 20 / 30 %"
    print(f"| method | recall {shares} | area | tau {shares} | tau_AP 10 % | seconds |")
    print("| --- | --- | ---: | --- | ---: | ---: |", flush=True)
    topics = made_up(RUNS, given.topics, DEPTH)
    for name in METHODS:
        print(simulation_line(name, topics, 20), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
