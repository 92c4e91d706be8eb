"""The operation that searches the site."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from leaderboard.pages.search import AT_MOST, LEAST, MOST, USUAL, SearchPage, search_page
from leaderboard.web.api.operations import operation
from leaderboard.web.session import reading, viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """q: words that all must begin a word of a name, tag or description, whatever their case.

    limit: how many tasks, suites, runs and teams at most.
    """

    q: Annotated[str, Meta(min_length=LEAST, max_length=MOST)]
    limit: Annotated[int, Meta(ge=1, le=AT_MOST)] = USUAL


@operation("GET", "/search", SearchPage, query=SearchQuery)
def search(query: SearchQuery) -> SearchPage:
    """The tasks, suites, runs and teams that have some words

    As far as you may know of them, 20 of each kind unless asked for more. A token for one task finds what is
    in that task.
    """
    return search_page(reading(), viewer(), query.q, query.limit)


OPERATIONS = (search,)
