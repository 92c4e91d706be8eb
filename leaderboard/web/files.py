"""What a form brought along: files on disk, numbers and texts."""

from dataclasses import dataclass
from pathlib import Path

from flask import request

from leaderboard.errors import Invalid, Problem
from leaderboard.web.addresses import whole

LARGEST_NUMBER_DIGITS = 18
NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Received:
    """A file that was sent: where it lies until the request ends, and the name its sender gave it."""

    path: Path
    name: str


def received(field: str) -> Received | None:
    """The file of a form field, None where none was chosen."""
    file = request.files.get(field)
    if file is None or not file.filename:
        return None
    file.stream.flush()
    name = file.filename.replace("\\", "/").rsplit("/", 1)[-1]
    return Received(Path(file.stream.name), name[:NAME_CHARACTERS] or "unnamed")


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
