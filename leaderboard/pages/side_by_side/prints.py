"""What people prefer, as it is printed: all pairs of a task, or two runs by topic."""

from leaderboard.pages.prints import Printed
from leaderboard.pages.side_by_side.desk import DeskPage
from leaderboard.pages.side_by_side.results import Results, table


def of_pairs(found: DeskPage) -> Printed:
    """The pairs that are compared."""
    header = ["First", "Second", "Assessors", "Topics", "Answers", "Wins", "Ties", "Losses", "p"]
    rows = [[*each.names, each.assessors, each.topics, each.answers, *each.by_topic] for each in found.pairs]
    caption = (
        f"{found.task}: runs compared side by side, unlabelled. Wins, ties and losses of the first run count "
        "topics, by the majority of their answers; p is that of the exact sign test over topics."
    )
    return Printed(header, rows, caption)


def of_results(found: Results) -> Printed:
    """Two runs by topic; the caption says what the test says."""
    header, rows = table(found)
    one, two = found.names
    test, means = found.by_topic, found.satisfaction
    caption = (
        f"{found.task}: {one} and {two} side by side, unlabelled; answers of {found.assessors} assessors: "
        f"{found.answers}, topics: {len(found.topics)}. {one} is preferred on {test.wins} topics, {two} on "
        f"{test.losses}, neither on {test.ties} (exact sign test over topics, p = {test.p:.4f}). "
        f"Satisfaction from 0 to 4: {means.first.value:.2f} and {means.second.value:.2f}."
    )
    digits = dict.fromkeys(header[-2:], 2)
    return Printed([header[0], *header[2:]], [[row[0], *row[2:]] for row in rows], caption, digits)
