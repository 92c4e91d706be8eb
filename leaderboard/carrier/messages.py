"""Messages through Celery: the number of one job each, as JSON, in one of two queues."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from celery import Celery
from kombu import Exchange, Queue
from kombu.exceptions import KombuError

from leaderboard.core.jobs.carried import CarriedJob

TASK = "leaderboard.job"
FRESH, REST = "leaderboard.fresh", "leaderboard"
"""Two queues, so that jobs people wait for do not queue behind thousands of others."""
CONNECT_S = 2
"""Maximum seconds to connect to a broker; a separate thread does so."""
REPLY_S = 5
"""Maximum seconds for one message."""


def app(broker_url: str) -> Celery:
    """Celery as this site uses it: results, retries and times are all in the table of jobs."""
    celery = Celery("leaderboard", broker=broker_url, set_as_current=False)
    celery.conf.update(
        accept_content=["json"],
        broker_connection_max_retries=None,
        broker_connection_retry_on_startup=True,
        # An evaluator does not answer while it computes; whom it is gone for finds no message lost.
        broker_heartbeat=0,
        result_backend=None,
        task_acks_late=False,
        task_create_missing_queues=False,
        task_default_queue=REST,
        task_ignore_result=True,
        task_queues=_queues(broker_url),
        task_serializer="json",
        worker_concurrency=1,
        # Write access to the broker can make workers poll for jobs, and nothing else.
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_pool="solo",
        worker_prefetch_multiplier=1,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
    )
    return celery


def _queues(broker_url: str) -> tuple[Queue, ...]:
    """The urgent one first; on AMQP both outlive a node of a cluster."""
    is_amqp = urlsplit(broker_url).scheme.startswith("amqp")
    arguments = {"x-queue-type": "quorum"} if is_amqp else None
    # The exchange that every broker has: nothing about it can get lost with the broker's data.
    return tuple(
        Queue(name, Exchange(""), routing_key=name, queue_arguments=arguments) for name in (FRESH, REST)
    )


@dataclass(frozen=True, slots=True)
class Line:
    """An open connection to the broker, to send by."""

    app: Celery
    connection: Any
    producer: Any

    def send(self, jobs: Iterable[CarriedJob]) -> None:
        """Send a message for each job; raises one of `failures(app)`, with some of them sent."""
        for job in jobs:
            self.app.send_task(
                TASK,
                args=[job.job_id],
                queue=FRESH if job.is_fresh else REST,
                producer=self.producer,
                retry=False,
                ignore_result=True,
            )

    def close(self) -> None:
        """Drop the connection, regardless of its state."""
        try:
            self.connection.close()
        except failures(self.app):
            # It was lost: nothing is left to close.
            return


def failures(app: Celery) -> tuple[type[BaseException], ...]:
    """Exceptions raised where the broker fails."""
    connection = app.connection_for_write()
    return (KombuError, OSError, *connection.connection_errors, *connection.channel_errors)


def opened(app: Celery) -> Line:
    """An open connection to the broker, with little patience; raises one of `failures` where it is away."""
    is_amqp = app.connection_for_write().transport.driver_type == "amqp"
    patience = (
        # Without confirmations, messages written to a lost connection would count as sent.
        {"confirm_publish": True, "read_timeout": REPLY_S, "write_timeout": REPLY_S}
        if is_amqp
        else {"socket_connect_timeout": CONNECT_S, "socket_timeout": REPLY_S}
    )
    connection = app.connection_for_write(connect_timeout=CONNECT_S, transport_options=patience)
    connection.connect()
    # Redis is first contacted when a channel is made.
    return Line(app, connection, app.amqp.Producer(connection.channel()))
