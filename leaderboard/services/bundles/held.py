"""Files of an import that wait for their sender's yes: one import for each account, in the data folder.

They are not in the database, as they may be larger than all of it; who sends others, says yes or waits for a
day is rid of them.
"""

import json
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from leaderboard.errors import NotFound
from leaderboard.services.bundles import opening
from leaderboard.services.bundles.opening import Bounds, BundleFiles
from leaderboard.trec.read.bundles import is_hidden

FOLDER, NAMES = "imports", "names.json"
KEPT_S = 24 * 3600
TOKEN_BYTES = 16


def keep(data: Path, account_id: int, files: Sequence[tuple[str, Path]]) -> str:
    """Keep copies of some files, each with the path it had in its folder; the token that finds them again.

    What the account had kept is dropped, and so is what others left for more than a day.
    """
    sweep(data)
    drop(data, account_id)
    folder, token = _folder(data, account_id), secrets.token_hex(TOKEN_BYTES)
    folder.mkdir(mode=0o700, parents=True)
    for number, (_, path) in enumerate(files):
        shutil.copyfile(path, folder / str(number))
    facts = {"token": token, "names": [name for name, _ in files]}
    (folder / NAMES).write_text(json.dumps(facts), encoding="utf-8")
    return token


@contextmanager
def held(data: Path, account_id: int, token: str, bounds: Bounds) -> Iterator[BundleFiles]:
    """The files that an account keeps, unpacked where they are one archive; raises NotFound for none."""
    folder = _folder(data, account_id)
    try:
        facts = json.loads((folder / NAMES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        facts = {"token": ""}
    if not secrets.compare_digest(facts["token"].encode(), token.encode()) or not token:
        raise NotFound("These files are not here any more; choose them again.")
    paths = {name: folder / str(number) for number, name in enumerate(facts["names"])}
    with files_of(paths, bounds) as files:
        yield files


@contextmanager
def files_of(paths: dict[str, Path], bounds: Bounds) -> Iterator[BundleFiles]:
    """Files that were sent, by their paths in their folder, or those of the one archive among them."""
    wanted = {name: path for name, path in paths.items() if not is_hidden(name)}
    if len(wanted) == 1 and opening.is_archive(next(iter(wanted.values()))):
        with opening.opened(next(iter(wanted.values())), bounds) as files:
            yield files
        return
    yield opening.rooted(BundleFiles(wanted, {}))


def drop(data: Path, account_id: int) -> None:
    """Remove what an account keeps."""
    shutil.rmtree(_folder(data, account_id), ignore_errors=True)


def sweep(data: Path) -> None:
    """Remove what was kept for more than a day."""
    for folder in (data / FOLDER).glob("*"):
        if folder.stat().st_mtime < time.time() - KEPT_S:
            shutil.rmtree(folder, ignore_errors=True)


def _folder(data: Path, account_id: int) -> Path:
    return data / FOLDER / str(account_id)
