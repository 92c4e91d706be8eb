"""Tasks whose runs reproduce other runs."""

from dataclasses import dataclass
from pathlib import Path

from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import OriginalRuns
from tests.make import build
from tests.make.copies import built_once

BASE = {"1": ["x", "a", "c"], "2": ["y", "d"], "3": ["f", "z", "e"]}
NEW = {"1": ["a", "c", "x"], "2": ["d", "y"], "3": ["f", "e"]}
BASE_AGAIN = {"1": ["x", "c", "a"], "2": ["y", "d"], "3": ["f", "z", "e"]}
NEW_AGAIN = {"1": ["a", "x", "c"], "2": ["d", "y"], "3": ["z", "e", "f"]}
ELSEWHERE = {"1": {"a": 1, "c": 1}, "2": {"d": 2}}
"""Judgments of another collection, on two topics."""


@dataclass(frozen=True)
class Reproduced:
    """Numbers of runs: an original with its baseline, both as another team made them again, and elsewhere."""

    base: int
    new: int
    base_again: int
    new_again: int
    base_there: int
    new_there: int

    @property
    def reproduced(self) -> OriginalRuns:
        """What new_again says."""
        return OriginalRuns(self.new, self.base, self.base_again)

    @property
    def replicated(self) -> OriginalRuns:
        """What new_there says."""
        return OriginalRuns(self.new, self.base, self.base_there)


@built_once
def runs(database: Database, folder: Path, **options: object) -> Reproduced:
    """Two tasks, t and u, whose runs do not say yet what they reproduce; options are those of t."""
    build.task(database, folder, measures=("AP", "RR"), **options)
    build.task(database, folder, "u", measures=("AP",), judgments=ELSEWHERE, topics=("1", "2"))
    here = {"base": BASE, "new": NEW}
    again = {"base-again": BASE_AGAIN, "new-again": NEW_AGAIN}
    there = {"base-there": BASE_AGAIN, "new-there": NEW_AGAIN}
    made = [build.run(database, folder, rankings, name) for name, rankings in here.items()]
    made += [
        build.run(database, folder, rankings, name, team_name="Others") for name, rankings in again.items()
    ]
    for name, rankings in there.items():
        few = {topic: rankings[topic] for topic in ("1", "2")}
        made.append(build.run(database, folder, few, name, team_name="Others", slug="u"))
    build.drain(database)
    return Reproduced(*made)


@built_once
def linked(database: Database, folder: Path, **options: object) -> Reproduced:
    """The same, and said: new-again reproduces new, new-there replicates it, both beside baselines."""
    made = runs(database, folder, **options)
    say(database, made.new_again, made.reproduced)
    say(database, made.new_there, made.replicated)
    build.drain(database)
    return made


def say(database: Database, run_id: int, of: OriginalRuns, viewer: Viewer = OPERATOR) -> None:
    """Say what a run reproduces."""
    with database.write() as session:
        reproductions.link(session, viewer, run_id, of)


def reproduce(database: Database, run_id: int, original: int, *baselines: int) -> None:
    """Say it of any run: the part that reproductions have in worlds."""
    say(database, run_id, OriginalRuns(original, *baselines))
