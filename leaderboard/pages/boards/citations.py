"""How to cite a task, its board or a snapshot: BibTeX entries that say what was read."""

from datetime import datetime

from leaderboard.pages.boards.snapshot import SnapshotPage
from leaderboard.services.boards.board import Board
from leaderboard.services.evaluations.shown import rests_on
from leaderboard.tables.bibtex import bibtex, misc


def of_task(name: str, slug: str, url: str, published: datetime | None) -> str:
    """The BibTeX entry of a task."""
    return _entry(slug, f"{name}: a shared task", name, published, url, "")


def of_board(shown: Board, url: str) -> str:
    """The entry of a board under the edition that is shown; of the task itself where no edition is."""
    basis = shown.basis
    if basis is None:
        return of_task(shown.task, shown.slug, url, None)
    note = f"Edition {basis.edition}, {rests_on(basis.revision, basis.topics, basis.dialect, basis.left_out)}"
    if shown.at is not None:
        note += f". As of {shown.at:%Y-%m-%d %H:%M} UTC"
    of = f" of the group {shown.group.name}" if shown.group else ""
    title = f"{shown.task}: board of runs{of} by {shown.ranked_by}"
    return _entry(board_key(shown), title, shown.task, shown.at or basis.shown_from, url, note)


def board_key(shown: Board) -> str:
    """The key of a board's entry."""
    return shown.slug if shown.basis is None else f"{shown.slug}-edition-{shown.basis.edition}"


def of_snapshot(page: SnapshotPage, url: str) -> str:
    """The entry of a frozen board, with its digest."""
    note = (
        f"Snapshot of {page.created_at:%Y-%m-%d %H:%M} UTC, SHA-256 {page.sha256}. Edition {page.edition}, "
        f"{rests_on(page.revision, page.topics, page.dialect, page.left_out)}"
    )
    title = f"{page.task}: board of runs by {page.ranked_by}"
    return _entry(f"{page.slug}-{page.address}", title, page.task, page.created_at, url, note)


def _entry(key: str, title: str, task: str, at: datetime | None, url: str, note: str) -> str:
    """One entry; nobody is named as author, since the organiser of a task need not be its author."""
    fields = {
        "title": f"{{{bibtex(title)}}}",
        "author": f"{{{bibtex(f'Organisers of {task}')}}}",
        "year": f"{at:%Y}" if at else "",
        "url": url,
        "note": bibtex(note),
    }
    return misc(key, fields)
