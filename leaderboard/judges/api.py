"""Operations on the reference of a judge task."""

from leaderboard.judges.ops import imported
from leaderboard.qrels.api.revisions import draft_answer
from leaderboard.web.api import actions
from leaderboard.web.api.answers import DraftAnswer

OPERATIONS = actions.operations(
    imported.ACTIONS,
    answers=dict.fromkeys(
        (action.name for action in imported.ACTIONS),
        (DraftAnswer, lambda token, slug: draft_answer(slug, token)),
    ),
)
