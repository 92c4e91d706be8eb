"""Values of a submitted form: files on disk, numbers and texts."""

from dataclasses import dataclass
from pathlib import Path

from flask import request
from werkzeug.datastructures import FileStorage

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.read.bundles import base_name, member_name
from leaderboard.web.addresses import whole
from leaderboard.web.session import viewer

LARGEST_NUMBER_DIGITS = 18
KEY_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Received:
    """A file that was sent: where it lies until the request ends, and the name its sender gave it."""

    path: Path
    name: str


def received(field: str) -> Received | None:
    """The file of a form field, the first of several, None where none was chosen."""
    first = next(iter(received_all(field)), None)
    return first and Received(first.path, base_name(first.name))


def received_all(field: str) -> list[Received]:
    """The files of a form field with the folders that they came from in their names, as browsers say them."""
    return [_kept(file, member_name(file.filename)) for file in request.files.getlist(field) if file.filename]


def _kept(file: FileStorage, name: str) -> Received:
    file.stream.flush()
    return Received(Path(file.stream.name), name)


def form_key() -> str | None:
    """The form's key, made the sender's own: nobody meets another account's upload by guessing it."""
    given = request.form.get("key", "")[:KEY_CHARACTERS]
    return f"{viewer().account_id}:{given}" if given else None


def number(field: str, default: int | None) -> int | None:
    """The whole number of a form field, `default` where it is empty; raises Invalid for anything else."""
    given = request.form.get(field, "").strip()
    if not given:
        return default
    value = whole(given, digits=LARGEST_NUMBER_DIGITS)
    if value is None:
        problem = Problem("must be a whole number.", "Write digits only.", field=field, value=given[:40])
        raise Invalid(f"{field.capitalize()} must be a whole number.", [problem])
    return value
