"""Uploaded files of nuggets and labels."""

from contextlib import ExitStack
from pathlib import Path

from werkzeug.datastructures import MultiDict

from leaderboard.answers.ops.nuggets import reading as nuggets_reading
from leaderboard.answers.ops.nuggets.reading import PartFile, PreparedAnswers, maker, parts_of
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.trec.nuggets.packing import PARTS, Part
from leaderboard.web.rules import received
from leaderboard.web.session import reading, viewer


def prepared(slug: str, form: "MultiDict[str, str]") -> PreparedAnswers:
    """The judgments from a form's files and the previous ones; raises Invalid, Conflict."""
    files: dict[Part, PartFile] = {}
    for part in PARTS:
        if (file := received(part)) is not None:
            files[part] = PartFile(file.path, file.name)
    choice = {"1": True, "0": False}.get(form.get("leaves_out", ""))
    makers = {part: maker(form.get(f"{part}_by") or "human", form.get(f"{part}_name", "")) for part in files}
    line = form.get("line", "").strip() or MAIN
    return nuggets_reading.prepare(reading(), viewer(), slug, files, makers, leaves_out=choice, line=line)


def sent(
    slug: str,
    holds: str,
    path: Path,
    name: str,
    *,
    by: tuple[str | None, str],
    leaves_out: bool | None,
    line: str = MAIN,
) -> PreparedAnswers:
    """As `prepared`, for an API upload: one part, or an archive of several; by: kind and name."""
    made_by = maker(by[0] or "human", by[1])
    with ExitStack() as open_until:
        part = next((each for each in PARTS if each == holds), None)
        files = {part: PartFile(path, name or part)} if part else open_until.enter_context(parts_of(path))
        makers = dict.fromkeys(files, made_by)
        return nuggets_reading.prepare(
            reading(), viewer(), slug, files, makers, leaves_out=leaves_out, line=line
        )
