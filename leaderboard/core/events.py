"""Events on the site, for notification by mail and webhooks if the site has them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from leaderboard.core.slots import Slot

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from leaderboard.core.jobs.queue import Claim
    from leaderboard.core.policy import Viewer
    from leaderboard.db.engine import Database
    from leaderboard.db.tables import Announcement, Edition, Phase, Task, Upload
    from leaderboard.settings import Settings


class Listener(Protocol):
    """Called within the transaction of the event."""

    def upload_decided(self, session: "Session", task: "Task", upload: "Upload", run_id: int | None) -> None:
        """A file was accepted as a run, or rejected if there is no run."""

    def run_scored(self, session: "Session", run_id: int, edition_id: int) -> None:
        """A run was evaluated for an edition."""

    def edition_shown(self, session: "Session", edition: "Edition") -> None:
        """The board shows an edition."""

    def dates_changed(self, session: "Session", task: "Task", phase: "Phase") -> None:
        """A phase opens or closes at another time."""

    def announced(
        self, session: "Session", task: "Task", announcement: "Announcement", team_ids: Collection[int]
    ) -> None:
        """An announcement was made to these teams."""

    def job_failed(self, session: "Session", job_id: int) -> None:
        """A job was given up."""


@dataclass(frozen=True, slots=True)
class MailDraft:
    """Content of a mail, before its receivers are known."""

    subject: str
    body: str
    announcement_id: int | None = None


class Post(Protocol):
    """Sends letters."""

    def server_of(self, settings: "Settings") -> Any:
        """The server that is set; raises Invalid for settings that make no sense."""

    def write_mail(self, session: "Session", account_ids: Iterable[int], draft: MailDraft) -> int:
        """Write a letter to each of the accounts that mail reaches; how many there are."""

    def try_again(self, session: "Session", viewer: "Viewer", mail_id: int | None = None) -> int:
        """Retry one failed mail, or all of them."""


class Work(Protocol):
    """Work of an evaluator other than evaluating."""

    def queue_due(self, session: "Session") -> None:
        """Queue the retries that are due."""

    def forget(self, session: "Session") -> None:
        """Delete expired rows."""

    def mail(self, database: "Database", job: "Claim") -> None:
        """Do a job of `queue.MAIL`."""

    def webhook(self, database: "Database", job: "Claim") -> None:
        """Do a job of `queue.WEBHOOK`."""


class WorkOf(Protocol):
    """Makes the work of one evaluator."""

    def __call__(self, settings: "Settings") -> Work:
        """By the settings of the site."""


LISTENERS: Slot[Listener] = Slot()
MAIL: Slot[Post] = Slot()
WORK: Slot[WorkOf] = Slot()
