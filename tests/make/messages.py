"""Messages in Celery's broker in memory: those that are there, and none from the test before."""

import json
from typing import Any

from kombu.transport.memory import Transport

from leaderboard.carrier import messages

BROKER = "memory://"


def throw_away() -> None:
    """Empty the broker, which is one for the whole process."""
    Transport.global_state.clear()
    with messages.app(BROKER).connection_for_read() as connection:
        connection.default_channel.queues.clear()


def taken(queue: str) -> list[dict[str, Any]]:
    """The messages of a queue, which are then gone: properties, and what they say as `body`."""
    found = []
    with messages.app(BROKER).connection_for_read() as connection:
        channel = connection.default_channel
        while queue in channel.queues and (message := channel.basic_get(queue, no_ack=True)) is not None:
            found.append(
                {**message.properties, "body": json.loads(message.body), "type": message.content_type}
            )
    return found


def numbers(queue: str) -> list[int]:
    """The numbers of jobs that the messages of a queue name."""
    return [message["body"][0][0] for message in taken(queue)]
