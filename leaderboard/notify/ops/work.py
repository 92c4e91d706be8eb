"""Evaluator jobs of mail and webhooks."""

from sqlalchemy.orm import Session

from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import Claim
from leaderboard.db.engine import Database
from leaderboard.notify.ops import calls, deliveries, mail
from leaderboard.settings import Settings


class NotifyWork:
    """Letters and deliveries, sent outside any transaction."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._mail_server = mail.server_of(settings)
        self._webhook_networks = calls.networks(settings.webhook_networks)

    def queue_due(self, session: Session) -> None:
        """Queue due mail, if there is a server, and due deliveries."""
        if self._mail_server is not None:
            mail.queue_due(session)
        deliveries.queue_due(session)

    def forget(self, session: Session) -> None:
        """Drop old deliveries."""
        deliveries.forget(session)

    def mail(self, database: Database, job: Claim) -> None:
        """Send a letter."""
        assert self._mail_server is not None, "mail is claimed only where there is a server"
        with database.write() as session:
            letter = mail.take_mail(session, job.subject_id, self._settings.mails_an_hour)
            if letter is None:
                queue.finish(session, job)
                return
        result = mail.send_mail(self._mail_server, letter)
        with database.write() as session:
            queue.finish(session, job)
            mail.store_mail(session, letter, result)

    def webhook(self, database: Database, job: Claim) -> None:
        """Send an event to a webhook."""
        with database.write() as session:
            request = deliveries.take(session, job.subject_id, self._settings.address)
            if request is None:
                queue.finish(session, job)
                return
        answer = calls.post(request, self._webhook_networks)
        with database.write() as session:
            queue.finish(session, job)
            deliveries.store(session, request, answer)
