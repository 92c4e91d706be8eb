"""The reference that a form chose: the board of another task, or a board file."""

from werkzeug.datastructures import MultiDict

from leaderboard.errors import Invalid
from leaderboard.services.judges import imported
from leaderboard.services.judges.sending import PreparedReference
from leaderboard.web.files import received
from leaderboard.web.session import reading, viewer


def prepared(slug: str, form: "MultiDict[str, str]") -> PreparedReference:
    """The reference of a form; raises Invalid, Conflict, NotFound."""
    file, declared = received("board"), received("declared")
    source, measure = form.get("source", "").strip(), form.get("measure", "").strip()
    if bool(source) == (file is not None):
        raise Invalid("Name the task whose board is the reference, or choose a board file; one of the two.")
    if file is None:
        return imported.from_task(reading(), viewer(), slug, source, measure)
    return imported.from_file(
        reading(),
        viewer(),
        slug,
        file.path,
        file.name,
        measure,
        declared.path if declared is not None else None,
        is_machine=bool(form.get("is_machine")),
    )
