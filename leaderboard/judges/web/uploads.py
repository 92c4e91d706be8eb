"""The forms for the reference of a judge task, on its page of judgments."""

from flask import Blueprint

from leaderboard.errors import LeaderboardError
from leaderboard.judges.ops import imported
from leaderboard.qrels.web import revisions
from leaderboard.web import actions

blueprint = Blueprint("references", __name__)
actions.add_to(
    blueprint,
    imported.ACTIONS,
    revisions.list_page,
    then=dict.fromkeys((action.name for action in imported.ACTIONS), revisions.to_draft),
    refusals=(LeaderboardError,),
)
