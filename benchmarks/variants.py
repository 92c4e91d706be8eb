"""One run file in forms that are less usual, with the same rankings in all of them."""

from collections.abc import Callable, Iterator
from itertools import cycle, groupby
from pathlib import Path

import numpy as np

HALVES = 2
SEPARATORS = (b"\t", b"  ")


def write_all(run: Path, seed: int) -> None:
    """Every variant next to the run: run.blanks.txt, run.crlf.txt and so on."""
    for name, write in VARIANTS.items():
        write(run, variant_path(run, name), seed)


def variant_path(run: Path, name: str) -> Path:
    """Where that variant of the run lies."""
    return run.with_suffix(f".{name}{run.suffix}")


def blanks(run: Path, target: Path, seed: int) -> None:
    """Tabs on one line, double blanks on the next."""
    with run.open("rb") as lines, target.open("wb") as file:
        file.writelines(
            separator.join(line.split(b" "))
            for separator, line in zip(cycle(SEPARATORS), lines, strict=False)
        )


def crlf(run: Path, target: Path, seed: int) -> None:
    """Lines that end as on Windows."""
    with run.open("rb") as lines, target.open("wb") as file:
        file.writelines(line.replace(b"\n", b"\r\n") for line in lines)


def unsorted(run: Path, target: Path, seed: int) -> None:
    """The lines of each topic shuffled."""
    rng = np.random.default_rng(seed)
    with target.open("wb") as file:
        for lines in _topics(run):
            file.write(b"".join([lines[place] for place in rng.permutation(len(lines)).tolist()]))


def split(run: Path, target: Path, seed: int) -> None:
    """The first half of every topic, then the second half of every topic."""
    _write_pieces(run, target, HALVES)


def interleaved(run: Path, target: Path, seed: int) -> None:
    """The first line of every topic, then the second of every topic, and so on."""
    _write_pieces(run, target, None)


VARIANTS: dict[str, Callable[[Path, Path, int], None]] = {
    variant.__name__: variant for variant in (blanks, crlf, unsorted, split, interleaved)
}


def _topics(run: Path) -> Iterator[list[bytes]]:
    """The lines of each topic, which must stand together."""
    with run.open("rb") as lines:
        for _, group in groupby(lines, key=lambda line: line.split(b" ", 1)[0]):
            yield list(group)


def _write_pieces(run: Path, target: Path, pieces: int | None) -> None:
    """Each topic cut into `pieces` pieces (or lines): all first ones, then all second ones, and so on.

    Only the places of the pieces are held, not the text.
    """
    bounds = []
    end = 0
    for lines in _topics(run):
        starts = np.cumsum([end, *map(len, lines)], dtype=np.int64)
        count = len(lines) if pieces is None else pieces
        bounds.append(starts[np.arange(count + 1) * len(lines) // count])
        end = int(starts[-1])
    with run.open("rb") as source, target.open("wb") as file:
        for piece in range(max(map(len, bounds), default=1) - 1):
            for cuts in bounds:
                if piece + 1 < len(cuts):
                    source.seek(cuts[piece])
                    file.write(source.read(cuts[piece + 1] - cuts[piece]))
