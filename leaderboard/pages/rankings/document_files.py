"""One document's judgments, or its places in the runs for a topic, as JSON, CSV and LaTeX."""

from typing import Any

from leaderboard.pages.rankings.document import DocumentPage
from leaderboard.pages.topics.judgments import Finders


def as_json(page: DocumentPage) -> dict[str, Any]:
    """The document with its judgments and places as plain values."""
    chosen = page.chosen
    return {
        "task": page.slug,
        "docno": page.docno,
        "title": page.title,
        "text": page.plain,
        "link": page.link,
        "revision": page.basis.revision if page.basis else None,
        "judgments": {each.grades.topic_id: each.grade for each in page.topics if each.grade is not None},
        "revisions": {
            each.grades.topic_id: {
                str(revision.number): then.grade
                for revision, then in zip(page.revisions, each.grades.grades, strict=True)
            }
            for each in page.topics
        },
        "topic": chosen.topic_id if chosen else None,
        "grade": chosen.grade if chosen else None,
        "runs": chosen.of if chosen else None,
        "places": [
            {
                "run": place.run,
                "run_id": place.run_id,
                "team": place.team,
                "rank": place.rank,
                "score": place.score,
            }
            for place in (chosen.places if chosen else ())
        ],
    }


def table(page: DocumentPage, places: bool) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the places for the chosen topic, or of the judgments by topic and revision."""
    if places:
        chosen = page.chosen.places if page.chosen else ()
        return ["run", "team", "rank", "score"], [
            [place.run, place.team, place.rank, place.score] for place in chosen
        ]
    earlier = page.revisions if len(page.revisions) > 1 else ()
    header = ["topic", "title", "grade", "runs", "best_rank", "best_run"]
    return [*header, *(f"revision {revision.number}" for revision in earlier)], [
        [
            *(each.grades.topic_id, each.grades.title, each.grade, *_found(each.found)),
            *(then.grade for then in each.grades.grades if earlier),
        ]
        for each in page.topics
    ]


def _found(found: Finders | None) -> tuple[int | None, int | None, str | None]:
    """How many runs have it, its highest rank, and whose that is."""
    if found is None:
        return None, None, None
    return found.runs, found.best or None, found.best_run or None


def caption(page: DocumentPage, places: bool) -> str:
    """What the printed table shows."""
    if places and page.chosen is not None:
        return (
            f"Where {len(page.chosen.places):,} of {page.chosen.of:,} runs have document {page.docno} "
            f"for topic {page.chosen.topic_id} of {page.task}."
        )
    return f"Grades of document {page.docno} in {page.task}, by topic and qrels revision."
