"""Files that are, or pretend to be, pictures; and tasks with a logo."""

import hashlib
import io
from pathlib import Path
from typing import Any

from PIL import Image

from leaderboard.core.picture_kinds import KINDS, LOGO
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops.pictures import encode, pictures, prepare
from leaderboard.tasks.ops.pictures.pictures import PictureHead, PictureText

RED, GREEN, BLUE = (220, 30, 30), (20, 160, 60), (30, 60, 200)


def flag(width: int = 300, height: int = 200, mode: str = "RGB") -> Image.Image:
    """A picture whose left half is red and whose right half is blue."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(BLUE, (width // 2, 0, width, height))
    return image.convert(mode)


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    """The bytes of a file of the picture."""
    body = io.BytesIO()
    image.save(body, form, **options)
    return body.getvalue()


def file(folder: Path, body: bytes, name: str = "picture.png") -> Path:
    """A file of these bytes."""
    path = folder / name
    path.write_bytes(body)
    return path


def give(
    database: Database, folder: Path, slug: str = "t", kind: str = LOGO.name, alt: str = "A flag"
) -> PictureHead:
    """Give a task a picture of a kind, as the command does."""
    prepared = prepared_once(file(folder, saved(flag(), "PNG")), kind)
    with database.write() as session:
        return pictures.put(session, OPERATOR, slug, kind, prepared, PictureText(alt=alt))


def address() -> str:
    """The address of the logo that `give` gives."""
    _, body = encode.encode(io.BytesIO(saved(flag(), "PNG")), LOGO)
    return hashlib.sha256(body).hexdigest()[: pictures.ADDRESS]


_prepared: dict[tuple[bytes, str], prepare.PreparedPicture] = {}


def prepared_once(path: Path, kind: str) -> prepare.PreparedPicture:
    """The prepared picture of a file, by one process for all that ask for the same."""
    key = path.read_bytes(), kind
    if key not in _prepared:
        _prepared[key] = prepare.prepare(path, KINDS[kind])
    return _prepared[key]
