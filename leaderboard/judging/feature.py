"""Everything that judging adds to the site."""

from typing import TYPE_CHECKING, Any

from leaderboard.core.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Blueprint

    from leaderboard.web.api.operations import Operation


def _pages() -> "Iterable[Blueprint]":
    from leaderboard.judging.web import clicks
    from leaderboard.judging.web.assessors import adjudication, agreement, assessors, judging, settled
    from leaderboard.judging.web.labelling import decisions as labelling_decisions
    from leaderboard.judging.web.labelling import desk as labelling_desk
    from leaderboard.judging.web.labelling import rounds as labelling_rounds
    from leaderboard.judging.web.pools import audits, combined, pools
    from leaderboard.judging.web.side_by_side import judging as side_by_side_judging
    from leaderboard.judging.web.side_by_side import side_by_side

    modules = (
        clicks,
        adjudication,
        agreement,
        assessors,
        judging,
        settled,
        labelling_decisions,
        labelling_desk,
        labelling_rounds,
        audits,
        combined,
        pools,
        side_by_side_judging,
        side_by_side,
    )
    return (module.blueprint for module in modules)


def _operations() -> "dict[str, tuple[Operation, ...]]":
    from leaderboard.judging.api import judging, pools

    return {
        "Judgments and pools": pools.READS,
        "New judgments": (*pools.OPERATIONS, *pools.CLICKS),
        "Coordinating assessors": (*pools.ASSESSORS, *pools.SIDE_BY_SIDE),
        "Judging by personal link": (*judging.OPERATIONS,),
    }


def _command(name: str) -> Any:
    command: Any
    match name:
        case "clicks":
            from leaderboard.judging.cli.clicks import clicks as command
        case "pool":
            from leaderboard.judging.cli.pools import pool as command
        case "board":
            from leaderboard.judging.cli.boards import board as command
        case _:
            raise LookupError(name)
    return command


FEATURE = Feature(
    "judging", pages=_pages, operations=_operations, commands=("clicks", "pool", "board"), command=_command
)
