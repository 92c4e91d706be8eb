"""A site that lasts as long as the command: bundles are imported into it and scored again."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops import snapshots
from leaderboard.boards.ops.board import Board
from leaderboard.boards.page.tables import board_facts
from leaderboard.bundles import page as bundles
from leaderboard.bundles.ops import imports
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.imports import ImportedTask
from leaderboard.bundles.ops.opening import BundleFiles
from leaderboard.core.jobs import queue
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.settings import Settings
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
