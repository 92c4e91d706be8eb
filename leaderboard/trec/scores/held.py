"""Runs and judgments in memory, which are scored as files are."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Literal, TypeVar

from leaderboard.trec.qrels.align import CompiledJudgments
from leaderboard.trec.read.blocks import Block, Consumer

C = TypeVar("C", bound=Consumer)


@dataclass(frozen=True, eq=False, slots=True)
class HeldRun:
    """A run: its name, and what gives its blocks of whole topics, any number of times."""

    name: str
    blocks: Callable[[], Iterable[Block]]

    def given_to(self, consumer: C) -> C:
        """The consumer, which took every block."""
        for block in self.blocks():
            consumer.add(block)
        return consumer

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class HeldQrels:
    """Judgments ready to be aligned with runs, and what messages call them."""

    compiled: CompiledJudgments
    name: str = "qrels"

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class HeldFile:
    """The bytes of a file, which may be compressed, under its name."""

    content: bytes
    name: str

    @property
    def stem(self) -> str:
        """Name of a run without a tag."""
        return self.name

    def open(self, mode: Literal["rb"]) -> BufferedReader:
        """The file from its beginning."""
        return BufferedReader(BytesIO(self.content))

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class NamedFile:
    """The file of a run that is called something else than its tag says."""

    file: Path | HeldFile
    name: str

    @property
    def stem(self) -> str:
        """Name of the run."""
        return self.name

    def open(self, mode: Literal["rb"]) -> BufferedReader:
        """The file from its beginning."""
        return self.file.open(mode)

    def __str__(self) -> str:
        """The file."""
        return str(self.file)
