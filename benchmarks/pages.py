"""Times the pages of made-up tasks: `python -m benchmarks.pages --help`.

The server's share only: one client in the same process, every page asked for once before it is timed, made
each time and then given as it was kept. Runs, topics and texts are made up; what is timed is what a site of
that size does.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from flask.testing import FlaskClient
from sqlalchemy import event, select
from werkzeug.test import TestResponse

from benchmarks import measuring, table
from leaderboard.accounts.ops import teams
from leaderboard.application import create_app
from leaderboard.core.policy import OPERATOR
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Task
from leaderboard.judging.ops.pools import previews
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.judging.page.pools import audited_runs
from leaderboard.pooling.methods import DEFAULT
from leaderboard.runs.ops import limits, prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.scoring.ops.statistics.procedures import pool_reusability
from leaderboard.settings import Settings
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.trec.read.lines import Limits
from leaderboard.web import kept as kept_pages
from leaderboard.worker import Evaluator

PACKED = {"Accept-Encoding": "gzip, deflate, br, zstd"}
MEASURES = ("AP", "nDCG@10", "nDCG", "P@10", "RR", "R@100", "Rprec", "Bpref")
SEED = 1
WORDS = 200
"""Of every document's text."""


@dataclass(frozen=True)
class Site:
    """How large a task is: retrieved is documents of a ranking, pooled what runs draw them from."""

    runs: int
    topics: int
    retrieved: int
    pooled: int
    judged: int
    texts: bool = False
    members: int = 0
    """Of a suite, each a task of that size; 0: one task, without a suite."""


SITES: Mapping[str, Site] = {
    "wide": Site(500, 50, 30, 60, 40),
    "deep": Site(129, 50, 1000, 2500, 1500),
    "texts": Site(14, 5, 1000, 2500, 1500, texts=True),
    "suite": Site(100, 20, 20, 40, 20, members=18),
}
POOLED = "deep"
"""The site that pools are made from."""
PAGES: Sequence[tuple[str, str, str, float]] = (
    ("wide", "board of 500 runs x 8 measures", "/tasks/t", 60),
    ("wide", "the same, filtered, with bounds", "/tasks/t?q=run0&bounds=1", 60),
    ("deep", "heat map, 129 x 50", "/tasks/t/heatmap", 100),
    ("deep", "topics", "/tasks/t/topics", 100),
    ("deep", "topic", "/tasks/t/topics/1", 100),
    ("deep", "run", "/runs/1", 100),
    ("deep", "run, explained", "/runs/1/explained", 100),
    ("deep", "curves of three runs", "/tasks/t/curves", 100),
    ("texts", "ranking of 1,000 documents, first 20", "/runs/1/topics/1", 60),
    ("texts", "ranking of 1,000 documents, first 200", "/runs/1/topics/1?first", 100),
    ("texts", "ranking of 1,000 documents, all", "/runs/1/topics/1?all", 100),
    ("suite", "suite of 18 members x 100 runs", "/suites/s", 60),
    ("suite", "the same, its changes to a member", "/suites/s/changes", 60),
    ("suite", "the same, pairs of a run", "/suites/s/pairs", 60),
)
"""Site, what is timed, its address, and how many milliseconds it should take on two cores."""


def fill(database: Database, folder: Path, size: Site, seed: int = SEED) -> None:
    """A task `t` of that size, or a suite `s` of such tasks, its runs sent, checked and scored."""
    schema.upgrade(database)
    if not size.members:
        _fill(database, folder, size, seed, "t")
        return
    slugs = [f"t{number:02d}" for number in range(size.members)]
    for number, slug in enumerate(slugs):
        _fill(database, folder, size, seed + number, slug)
    _join(database, slugs)


def _join(database: Database, slugs: Sequence[str]) -> None:
    """A suite of these tasks, whose runs of one name are a suite run; that feature may be out."""
    from leaderboard.suites.ops import changes, sending
    from leaderboard.suites.ops.changes import MemberDraft, SuiteDraft

    members = tuple(MemberDraft(name=slug, task=slug, lag="short") for slug in slugs)
    draft = SuiteDraft(
        slug="s", title="Made up", members=members, reference=slugs[0], baseline="run000", macro="lag"
    )
    with database.write() as session:
        changes.create(session, OPERATOR, draft)
        rows = session.execute(
            select(Run.id, Run.name, Run.team_id, Task.slug).join(Task, Task.id == Run.task_id)
        )
        by_name: dict[tuple[str, int], dict[str, int]] = {}
        for run_id, name, team_id, slug in rows:
            by_name.setdefault((name, team_id), {})[slug] = run_id
        for (name, team_id), runs in by_name.items():
            sending.put_together(session, OPERATOR, "s", team_id, name, runs)


def _fill(database: Database, folder: Path, size: Site, seed: int, slug: str) -> None:
    rng = np.random.default_rng(seed)
    relevant = {topic: int(rng.integers(3, max(4, size.judged // 8))) for topic in range(1, size.topics + 1)}
    prepared = drafts.prepare(_draft(folder, size, relevant, rng, slug))
    with database.write() as session:
        drafts.create(session, OPERATOR, prepared)
        drafts.publish(session, OPERATOR, slug)
    quality = np.sort(rng.beta(3, 3, size.runs))
    common = rng.normal(size=(size.topics, size.pooled))
    for number in range(size.runs):
        path = folder / f"run{number:03d}.txt"
        with path.open("w", encoding="utf-8") as file:
            for topic, count in relevant.items():
                scores = 0.8 * common[topic - 1] + rng.normal(size=size.pooled)
                scores[:count] += 0.8 + 2.5 * quality[number]
                best = np.argsort(-scores)[: size.retrieved]
                file.writelines(
                    f"{topic} Q0 {_docno(topic, place)} 0 {scores[place]:.6f} {path.stem}\n"
                    for place in best.tolist()
                )
        _send(database, path, f"Team {number // 4}", slug)
        path.unlink()
    Evaluator(database, Settings()).drain()


def _docno(topic: int, place: int) -> str:
    return f"T{topic:03d}-{place:05d}"


def _draft(
    folder: Path, size: Site, relevant: Mapping[int, int], rng: np.random.Generator, slug: str
) -> TaskDraft:
    topics, qrels, documents = (folder / name for name in ("topics.tsv", "qrels.txt", "documents.jsonl"))
    topics.write_text("".join(f"{topic}\tword{topic} word{topic + 1}\n" for topic in relevant))
    with qrels.open("w", encoding="utf-8") as file:
        for topic, count in relevant.items():
            others = count + rng.choice(size.pooled - count, size.judged - count, replace=False)
            for place in (*range(count), *others.tolist()):
                file.write(f"{topic} 0 {_docno(topic, place)} {1 + place % 3 if place < count else 0}\n")
    if size.texts:
        with documents.open("w", encoding="utf-8") as file:
            for topic in relevant:
                for place in range(size.pooled):
                    words = " ".join(f"word{word}" for word in rng.integers(0, 500, WORDS))
                    title = f"{words[:40]} {place}"
                    docno = _docno(topic, place)
                    file.write(f'{{"_id": "{docno}", "title": "{title}", "text": "{words}"}}\n')
    return TaskDraft(
        slug=slug,
        name="Made up",
        topics=topics,
        qrels=qrels,
        measures=MEASURES,
        documents=documents if size.texts else None,
    )


def _send(database: Database, path: Path, team: str, slug: str) -> None:
    with database.write() as session:
        team_id = teams.ensure(session, OPERATOR, team)
    with database.read() as session:
        rules = limits.rules_for(session, OPERATOR, slug, team_id)
    prepared = prepare.prepare(path, path.name, rules, Limits())
    with database.write() as session:
        run_request = RunRequest(path.stem)
        delivery = Delivery(
            sender=OPERATOR, slug=slug, team_id=team_id, file=prepared, run_request=run_request
        )
        uploads.submit(session, delivery)


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """The SQL statements that are sent meanwhile."""
    sent: list[str] = []

    def note(*facts: Any) -> None:
        sent.append(facts[2])

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


@dataclass(frozen=True)
class Timing:
    """Of one page: milliseconds and bytes. warm: made again; kept: given again; unchanged: by a 304."""

    first: float
    warm: float
    kept: float
    unchanged: float
    size: int
    packed: int
    statements: int


def timed(client: FlaskClient, database: Database, path: str, repeats: int) -> Timing:
    """The median of several answers of each sort; the first is one of a process that has just begun."""
    app = client.application
    kept_pages.register_pages(app, 0)
    first, _ = _asked(client, path, {})
    with counted(database) as sent:
        client.get(path)
    statements = len(sent)
    warm = median(_asked(client, path, {})[0] for _ in range(repeats))
    kept_pages.register_pages(app, 2**30)
    begun = _asked(client, path, PACKED)[1]
    kept = median(_asked(client, path, PACKED)[0] for _ in range(repeats))
    known = {**PACKED, "If-None-Match": begun.headers["ETag"]}
    unchanged = median(_asked(client, path, known, 304)[0] for _ in range(repeats))
    plain = client.get(path)
    return Timing(first, warm, kept, unchanged, len(plain.data), len(begun.data), statements)


def _asked(
    client: FlaskClient, path: str, headers: dict[str, str], status: int = 200
) -> tuple[float, TestResponse]:
    start = time.perf_counter()
    answer = client.get(path, headers=headers)
    took = (time.perf_counter() - start) * 1000
    if answer.status_code != status:
        raise SystemExit(f"{path} answered {answer.status}")
    return took, answer


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--only", choices=SITES, help="one of the tasks")
    given = parser.parse_args(arguments)
    print(table.facts(measuring.machine()))
    heads = ("page", "first ms", "warm ms", "target", "kept ms", "304 ms", "KB", "KB sent", "SQL")
    print(f"| {' | '.join(heads)} |\n|---{'|---:' * (len(heads) - 1)}|")
    for name, size in SITES.items():
        if given.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                _site(Path(folder), name, size, given.repeats)


def _pooled(database: Database) -> Iterator[tuple[str, float, float]]:
    """The time of pools made from stored rankings: name, milliseconds, target."""
    plans = (("depth 100", {"name": "depth", "depth": 100}), ("depth 10, then fusion", dict(DEFAULT)))
    with database.read() as session:
        for name, spec in plans:
            start = time.perf_counter()
            previews.preview(session, OPERATOR, "t", PoolPlan(spec, seed=SEED))
            yield f"preview of a pool: {name}", (time.perf_counter() - start) * 1000, 1500
        audited = audited_runs.audited(session, OPERATOR, "t", "AP")
        options = pool_reusability.options(100, audited.level, audited.teams)
        start = time.perf_counter()
        ids = [run.run_id for run in audited.runs]
        pool_reusability.compute(session, audited.rests_on[0], ids, "AP", options, lambda _: None)
        yield "each team left out, pool of depth 100", (time.perf_counter() - start) * 1000, 5000


def _site(folder: Path, name: str, size: Site, repeats: int) -> None:
    url = f"sqlite:///{folder / 'site.sqlite3'}"
    database = Database(url)
    fill(database, folder, size)
    client = create_app(Settings(data=folder, database_url=url), database).test_client()
    for site, title, path, target in PAGES:
        if site == name:
            found = timed(client, database, path, repeats)
            numbers = (
                *(f"{number:.0f}" for number in (found.first, found.warm, target)),
                *(f"{number:.1f}" for number in (found.kept, found.unchanged)),
                *(f"{number:.0f}" for number in (found.size / 1024, found.packed / 1024, found.statements)),
            )
            print(f"| {title} | {' | '.join(numbers)} |")
    for title, took, target in _pooled(database) if name == POOLED else ():
        print(f"| {title} | {took:.0f} | – | {target:.0f} {'| – ' * 5}|")
    sys.stdout.flush()
    database.dispose()


if __name__ == "__main__":
    main()
