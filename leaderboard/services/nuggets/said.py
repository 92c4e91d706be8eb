"""What a board under a revision of judgments of answers has to say of these."""

from statistics import median

from sqlalchemy.orm import Session

from leaderboard.services.nuggets import stored
from leaderboard.trec.nuggets.judgments import MANY_FAILED


def sentences(session: Session, revision_id: int) -> tuple[str, ...]:
    """What the board under a revision says of it: the vital nuggets of a topic, labels that failed."""
    judged = stored.of_revision(session, revision_id)
    nuggets = [given for given in judged.judgments.nuggets.topics.values() if given]
    said = []
    if nuggets:
        middle = median(sum(nugget.importance == "vital" for nugget in given) for given in nuggets)
        said.append(f"A topic has {middle:g} vital nuggets in the median, so scores of one topic are coarse.")
    assigned = judged.judgments.assignments
    if assigned is not None and assigned.failed_share > MANY_FAILED:
        share = f"{assigned.failed_share:.1%}"
        said.append(f"Warning: {share} of all assignments failed; they count as not held.")
    if judged.leaves_out and judged.without_vital:
        left = ", ".join(judged.without_vital[:20])
        said.append(f"Measures of vital nuggets leave out topics without any: {left}.")
    return tuple(said)
