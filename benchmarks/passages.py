"""A collection as large as MS MARCO's passages: how long it takes to load, in how much memory, to be read.

    python -m benchmarks.passages FOLDER [--documents 8841823] [--topics 50]

It writes made-up passages (TSV, as MS MARCO's own; about 56 words each), loads them by `leaderboard
collection add` into a site of its own on SQLite, submits a run of 1,000 documents per topic drawn from all
of them, and asks for the uncached page of each topic's ranking. FOLDER must not be there, and
needs room for five times the passages.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measuring import measure
from leaderboard.accounts.ops import teams
from leaderboard.application import create_app
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.runs.ops import limits, prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.settings import DATABASE_FILE, Settings
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.trec.read.lines import Limits
from leaderboard.worker import Evaluator

PASSAGES = 8_841_823
"""MS MARCO's, version 1."""
WORDS, SPREAD = 56, 25
"""Mean and standard deviation of a passage's words."""
VOCABULARY, PHRASES, WORDS_EACH = 60_000, 2**18, 4
"""Passages are made from phrases: to draw each word would take longer than to load them."""
AT_ONCE = 20_000
DEEPEST = 1000
COMMAND = "from leaderboard.cli import main; main()"
SEED = 20261124
"""Of all that is drawn."""


def phrases(rng: np.random.Generator) -> list[str]:
    """Made-up words of 2 to 12 letters, as frequent as their ranks (Zipf), a few in each phrase."""
    lengths = np.clip(rng.poisson(5, VOCABULARY), 2, 12)
    letters = rng.integers(97, 123, int(lengths.sum()), dtype=np.uint8).tobytes().decode()
    ends = np.cumsum(lengths)
    words = [letters[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
    odds = 1 / np.arange(2, VOCABULARY + 2)
    drawn = rng.choice(VOCABULARY, (PHRASES, WORDS_EACH), p=odds / odds.sum()).tolist()
    return [" ".join([words[place] for place in each]) for each in drawn]


def passages(count: int) -> Iterator[bytes]:
    """Lines of some thousand passages at a time."""
    rng = np.random.default_rng(SEED)
    said = phrases(rng)
    for start in range(0, count, AT_ONCE):
        words = np.clip(rng.normal(WORDS, SPREAD, min(AT_ONCE, count - start)), WORDS_EACH, 200)
        sizes = np.rint(words / WORDS_EACH).astype(int)
        drawn = rng.integers(0, PHRASES, int(sizes.sum()), dtype=np.int32).tolist()
        lines, at = [], 0
        for number, size in enumerate(sizes.tolist(), start):
            text = " ".join([said[place] for place in drawn[at : at + size]])
            lines.append(f"{number}\t{text}.\n")
            at += size
        yield "".join(lines).encode()


def _task(database: Database, folder: Path, count: int, topics: int) -> int:
    """A task on the collection with one run; the run's id."""
    rng = np.random.default_rng(SEED + 1)
    (folder / "topics.tsv").write_text("".join(f"{topic}\ttitle of {topic}\n" for topic in range(topics)))
    drawn = [rng.choice(count, DEEPEST, replace=False).tolist() for _ in range(topics)]
    (folder / "qrels.txt").write_text(
        "".join(f"{topic} 0 {docno} 1\n" for topic in range(topics) for docno in drawn[topic][:50])
    )
    (folder / "drawn.txt").write_text(
        "".join(
            f"{topic} Q0 {docno} {rank} {DEEPEST - rank} drawn\n"
            for topic in range(topics)
            for rank, docno in enumerate(drawn[topic], start=1)
        )
    )
    draft = TaskDraft(
        slug="passages",
        name="Passages",
        topics=folder / "topics.tsv",
        qrels=folder / "qrels.txt",
        collection="passages",
    )
    prepared = drafts.prepare(draft)
    with database.write() as session:
        drafts.create(session, OPERATOR, prepared)
        drafts.publish(session, OPERATOR, "passages")
        team_id = teams.ensure(session, OPERATOR, "Team")
    with database.read() as session:
        rules = limits.rules_for(session, OPERATOR, "passages", team_id, "")
    file = prepare.prepare(folder / "drawn.txt", "drawn.txt", rules, Limits())
    with database.write() as session:
        delivery = Delivery(
            sender=OPERATOR, slug="passages", team_id=team_id, file=file, run_request=RunRequest("drawn")
        )
        run_id = uploads.submit(session, delivery).run_id
    assert run_id is not None, file.report
    Evaluator(database, Settings()).drain()
    return run_id


def _times(settings: Settings, database: Database, run_id: int, topics: int) -> list[float]:
    """Milliseconds of each topic's ranking, sorted; the first one, which imports and opens, is left out."""
    visitor = create_app(settings, database).test_client()
    milliseconds = []
    for topic in range(topics):
        start = time.perf_counter()
        answer = visitor.get(f"/runs/{run_id}/topics/{topic}", base_url="http://localhost:8000")
        milliseconds.append(1000 * (time.perf_counter() - start))
        assert answer.status_code == 200, answer.text
    return sorted(milliseconds[1:])


def main() -> None:
    """Write, load, read; one line of figures each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=PASSAGES)
    parser.add_argument("--topics", type=int, default=50)
    given = parser.parse_args()
    given.folder.mkdir(mode=0o700, parents=True)
    file, data = given.folder / "passages.tsv", given.folder / "data"
    with file.open("wb") as out:
        out.writelines(passages(given.documents))
    print(f"{given.documents:,} passages, {file.stat().st_size / 2**30:.2f} GiB", flush=True)
    command = [sys.executable, "-c", COMMAND, "collection", "add", "passages", "--documents", str(file)]
    cost = measure(
        command,
        given.folder / "added",
        {"LEADERBOARD_DATA": str(data), "TMPDIR": str(given.folder)},
        Path.cwd(),
    )
    size = (data / DATABASE_FILE).stat().st_size
    print(
        f"loaded in {cost.seconds:.0f} s, peak {cost.megabytes:.0f} MB, database {size / 2**30:.2f} GiB",
        flush=True,
    )
    settings = Settings(data=data, kept_bytes=0)
    database = Database(settings.url)
    run_id = _task(database, given.folder, given.documents, given.topics)
    found = _times(settings, database, run_id, given.topics)
    print(
        f"a ranking page: median {found[len(found) // 2]:.0f} ms, slowest of {len(found)}: {found[-1]:.0f} ms"
    )
    database.dispose()


if __name__ == "__main__":
    main()
