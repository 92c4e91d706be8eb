"""Printed values compared with recomputed ones, bit by bit: scores by topic, boards and snapshots."""

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops import snapshots
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import PLACE_FACTS
from leaderboard.boards.page.tables import board_facts
from leaderboard.bundles import page as bundles
from leaderboard.bundles.ops import imports
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.imports import ImportedTask
from leaderboard.bundles.ops.opening import BundleFiles
from leaderboard.bundles.page import TOPIC_SCORES
from leaderboard.core.jobs import queue
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.settings import Settings
from leaderboard.verify.report import Difference
from leaderboard.worker import Evaluator

COMPUTED = Job.kind.in_((queue.EVALUATE, queue.COMPARE))
"""Jobs that compute; what would notify anyone stays undone."""
Progress = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Scratch:
    """The site, and its evaluator."""

    database: Database
    evaluator: Evaluator
    progress: Progress

    def bring(self, files: BundleFiles) -> ImportedTask:
        """Import a bundle whose digests were checked; raises Invalid where its records contradict it."""
        with self.database.write() as session:
            return imports.bring_in(session, OPERATOR, files, ImportRequest(), self.progress)

    def work(self) -> None:
        """Score and compare all that is queued."""
        self.evaluator.sweep()
        done = 0
        while self.evaluator.work(COMPUTED):
            done += 1
            self.progress(f"{done:,} evaluations")

    def scores(self, slug: str, *, is_public: bool) -> dict[str, bytes]:
        """The files of scores that the bundle should have."""
        return bundles.recomputed(self.database, slug, is_public=is_public)

    def board(self, slug: str) -> dict[str, Any]:
        """The current public board, as its JSON."""
        return board_facts(self._shown(slug, "", None))

    def frozen(self, slug: str, phase: str, edition: int) -> dict[str, Any]:
        """The public board of an edition, as a snapshot has it; raises NotFound without that edition."""
        shown = self._shown(slug, phase, edition)
        with self.database.read() as session:
            return snapshots.facts_of(session, shown)

    def _shown(self, slug: str, phase: str, edition: int | None) -> Board:
        viewer = replace(ANONYMOUS, phase=phase) if phase else ANONYMOUS
        with self.database.read() as session:
            shown = boards.board(session, viewer, slug, edition=edition)
        if not isinstance(shown.standing, WaitingResult):
            return shown
        with self.database.write() as session:
            requests.ask_for(session, OPERATOR, [shown.standing])
        self.work()
        with self.database.read() as session:
            return boards.board(session, viewer, slug, edition=edition)


@contextmanager
def scratch(progress: Progress) -> Iterator[Scratch]:
    """An empty site in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="verify-") as folder:
        settings = Settings(data=Path(folder))
        database = Database(settings.url)
        try:
            schema.upgrade(database)
            yield Scratch(database, Evaluator(database, settings), progress)
        finally:
            database.dispose()


Values = dict[tuple[str, str, str], Any]
"""Run, measure or other value, topic -> value."""
NAMES = frozenset(
    {
        *("run", "team", "run_id", "id", "tag", "kind", "task", "name", "at", "listed", "details"),
        *("visibility", "evaluators", "format", "revision_note", "origin_name", "group"),
    }
)
"""What a board says that is not computed."""
SCORES = "scores."


def compared(file: str, printed: Values, again: Values) -> Iterator[Difference | None]:
    """For each printed value None where the recomputed one is the same, else the difference."""
    for key, value in printed.items():
        other = again.get(key)
        # A number of JSON is 1 or 1.0; a truth is not a number.
        is_same = value == other and isinstance(value, bool) == isinstance(other, bool)
        yield None if is_same else Difference(
            file=file, run=key[0], measure=key[1], topic=key[2], printed=value, recomputed=other
        )  # fmt: skip


def of_bundle(path: str, printed: bytes, again: bytes) -> tuple[Values, Values]:
    """The values of a file of a bundle's scores and of the recomputed file, where versions have both.

    Raises ValueError, LookupError, TypeError, AttributeError or csv.Error for anything else.
    """
    if path.endswith(".json"):
        facts, other = json.loads(printed), json.loads(again)
        kept, computed, is_whole = on_record(facts, other)
        return (kept, computed) if is_whole else (board(facts), board(other))
    kept = _cells(path, printed)
    computed = kept if printed == again else _cells(path, again)
    if path == TOPIC_SCORES:
        # A score that is left out of the file counts as one that differs.
        return dict.fromkeys(computed) | kept, computed
    columns = {key[1] for key in computed}
    return {key: value for key, value in kept.items() if key[1] in columns}, computed


def _cells(path: str, body: bytes) -> Values:
    rows = csv.DictReader(io.StringIO(body.decode()))
    if path == TOPIC_SCORES:
        return {(f"{row['run']} #{row['id']}", row["measure"], row["topic"]): row["score"] for row in rows}
    return {(_run(row), key, ""): value for row in rows for key, value in row.items() if key not in NAMES}


def board(facts: Mapping[str, Any]) -> Values:
    """The values of a board as in its JSON or a snapshot."""
    leaves = dict(_leaves("", {key: value for key, value in facts.items() if key != "rows"}))
    for row in facts["rows"]:
        leaves |= dict(_leaves(_run(row), row))
    return leaves


def on_record(facts: Mapping[str, Any], again: Mapping[str, Any]) -> tuple[Values, Values, bool]:
    """The values that both boards have; whether they have the same runs, as ranks rest on all of them."""
    printed, other = board(facts), board(again)
    runs = {_run(row) for row in again["rows"]}
    is_whole = {_run(row) for row in facts["rows"]} == runs
    if not is_whole:
        # Of the rows of a board that has changed since, only the scores are still those of its runs.
        of_runs = {key for key in printed if key[0] in runs and key[1].startswith(SCORES)}
        return {key: printed[key] for key in of_runs}, other, False
    both = facts.keys() & again.keys() | {name for row in again["rows"] for name in row}
    if facts.get("comparison") is None or again.get("comparison") is None:
        both -= {*PLACE_FACTS, "comparison", "sentences"}
    return {key: value for key, value in printed.items() if key[1].split(".")[0] in both}, other, True


def _leaves(run: str, facts: Mapping[str, Any], head: str = "") -> Iterator[tuple[tuple[str, str, str], Any]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _leaves(run, value, f"{head}{name}.")
        elif head or name not in NAMES:
            yield (run, f"{head}{name}", ""), value


def _run(row: Mapping[str, Any]) -> str:
    """A run with its team, as names of runs are those of one team."""
    return f"{row['run']} ({row['team']})"
