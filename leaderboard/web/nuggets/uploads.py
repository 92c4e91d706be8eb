"""Files of nuggets and labels that a form brought along."""

from collections.abc import Mapping
from typing import cast

from werkzeug.datastructures import MultiDict

from leaderboard.errors import Invalid
from leaderboard.services.nuggets import uploads
from leaderboard.services.nuggets.prepared import PreparedAnswers
from leaderboard.services.nuggets.reading import PartFile
from leaderboard.trec.nuggets.packing import PARTS, MadeBy, Maker, Part
from leaderboard.web.files import received
from leaderboard.web.session import reading, viewer

NAME_CHARACTERS = 100


def prepared(slug: str, form: "MultiDict[str, str]") -> PreparedAnswers:
    """The judgments of answers that a form's files make of those before; raises Invalid, Conflict."""
    files: dict[Part, PartFile] = {}
    for part in PARTS:
        if (file := received(part)) is not None:
            files[part] = PartFile(file.path, file.name)
    choice = {"1": True, "0": False}.get(form.get("leaves_out", ""))
    makers = {part: _maker(form, part) for part in files}
    return uploads.prepare(reading(), viewer(), slug, files, makers, leaves_out=choice)


def _maker(form: Mapping[str, str], part: Part) -> MadeBy:
    kind = form.get(f"{part}_by") or "human"
    if kind not in ("human", "machine", "both"):
        raise Invalid("Nuggets and labels are made by people, by a machine, or by both.")
    name = form.get(f"{part}_name", "").strip()[:NAME_CHARACTERS]
    if kind != "human" and not name:
        raise Invalid("Say which machine made them: scores are shown with its name.")
    return MadeBy(cast(Maker, kind), name)
