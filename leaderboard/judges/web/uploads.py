"""The reference chosen in a form: the board of another task, or a board file."""

from werkzeug.datastructures import MultiDict

from leaderboard.errors import Invalid
from leaderboard.judges.ops import imported
from leaderboard.judges.ops.sending import KIND, PreparedReference
from leaderboard.web.rules import received
from leaderboard.web.session import reading, viewer


def prepared(takes: str, slug: str, form: "MultiDict[str, str]") -> PreparedReference | None:
    """The reference in a form, None for a task that accepts no judges; raises Invalid, Conflict, NotFound."""
    if takes != KIND:
        return None
    file, declared = received("board"), received("declared")
    source, measure = form.get("source", "").strip(), form.get("measure", "").strip()
    if bool(source) == (file is not None):
        raise Invalid(
            "Name the task whose board becomes the reference, or choose a board file, but not both."
        )
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
