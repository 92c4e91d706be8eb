"""The features of the site, from low to high: application, API, commands and kinds of run come from them.

A feature that none above imports comes out with its folder, its templates and its two lines here.
"""

from leaderboard.accounts.feature import FEATURE as ACCOUNTS
from leaderboard.answers.feature import FEATURE as ANSWERS
from leaderboard.boards.feature import FEATURE as BOARDS
from leaderboard.bundles.feature import FEATURE as BUNDLES
from leaderboard.comparisons.feature import FEATURE as COMPARISONS
from leaderboard.core.feature import KINDS
from leaderboard.core.slots import TABS
from leaderboard.gate.feature import FEATURE as GATE
from leaderboard.judges.feature import FEATURE as JUDGES
from leaderboard.judging.feature import FEATURE as JUDGING
from leaderboard.notify.feature import FEATURE as NOTIFY
from leaderboard.qrels.feature import FEATURE as QRELS
from leaderboard.reproductions.feature import FEATURE as REPRODUCTIONS
from leaderboard.runs.feature import FEATURE as RUNS
from leaderboard.scoring.feature import FEATURE as SCORING
from leaderboard.signatures.feature import FEATURE as SIGNATURES
from leaderboard.site.feature import FEATURE as SITE
from leaderboard.suites.feature import FEATURE as SUITES
from leaderboard.tasks.feature import FEATURE as TASKS

FEATURES = (
    ACCOUNTS,
    SIGNATURES,
    NOTIFY,
    SCORING,
    BOARDS,
    ANSWERS,
    QRELS,
    TASKS,
    RUNS,
    JUDGES,
    JUDGING,
    COMPARISONS,
    GATE,
    REPRODUCTIONS,
    SUITES,
    BUNDLES,
    SITE,
)


def register() -> None:
    """Make the kinds of run known and fill the slots; a process does so before it opens a site."""
    for feature in FEATURES:
        KINDS.update(feature.kinds)
        feature.fill()
    TABS[:] = [tab for feature in FEATURES for tab in feature.tabs]


def parts_at(place: str) -> list[str]:
    """The templates that features add to another one in a place that it names."""
    return [feature.parts[place] for feature in FEATURES if place in feature.parts]
