"""Operations that read answers of runs."""

from leaderboard.pages import answers
from leaderboard.web.api.operations import operation
from leaderboard.web.session import reading, viewer


@operation("GET", "/runs/<id:run_id>/answers/<topic:topic_id>", dict)
def show_answer(run_id: int, topic_id: str) -> dict[str, object]:
    """What a run of answers says on a topic

    Its segments with the documents they cite, its length and the limit, and what was cut off.
    """
    return dict(answers.ANSWER_FILES.facts(answers.answer_page(reading(), viewer(), run_id, topic_id)))


OPERATIONS = (show_answer,)
