"""Webhooks themselves: how many, and many at once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from sqlalchemy import func, select

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Webhook, WebhookDelivery
from leaderboard.errors import Conflict, OverQuota
from leaderboard.notify.ops import deliveries, webhooks
from leaderboard.notify.ops.webhooks import MADE_A_DAY, MOST
from leaderboard.notify.page.webhooks import webhook_page
from leaderboard.worker import Evaluator
from tests.accounts.ops.test_merges import Teams
from tests.accounts.ops.test_merges import both as both
from tests.make import people, receivers
from tests.notify import make as hooks

pytestmark = pytest.mark.dialect


def test_five_at_most_however_many_ask_at_once(database: Database) -> None:
    """Of eight at once three are refused; who makes and deletes them all day is refused, too."""
    ann = people.account(database, "Ann")
    team_id = people.team(database, "Owls", ann)

    def made(_: int) -> int | None:
        try:
            return hooks.webhook(database, ann, team_id=team_id).id
        except OverQuota:
            return None

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(made, range(8)))
    assert ids.count(None) == 8 - MOST
    asker = people.viewer(database, ann)
    for number in filter(None, ids):
        with database.write() as session:
            assert webhooks.delete(session, asker, number) == {"team_id": team_id}
    again = 0
    while (number := made(0)) is not None:
        again += 1
        with database.write() as session:
            webhooks.delete(session, asker, number)
    # A refusal is rolled back, so only those that were made are counted.
    assert again == MADE_A_DAY - MOST
    with database.read() as session:
        assert session.scalar(select(func.count(Webhook.id))) == 0


def test_evaluators_and_buttons_at_once(database: Database) -> None:
    """Two evaluators and an impatient owner: each event is taken, and nothing fails."""
    ann = people.account(database, "Ann")
    team_id = people.team(database, "Owls", ann)
    asker = people.viewer(database, ann)
    with receivers.receiver() as received:
        made = hooks.webhook(database, ann, team_id=team_id, address=received.address())
        with database.write() as session:
            sent = [deliveries.send_test(session, asker, made.id) for _ in range(6)]
        settings = receivers.settings_of(lock_wait_s=10)

        def press(message: str) -> None:
            for act in (webhooks.rotate, webhooks.pause, webhooks.resume):
                with database.write() as session:
                    act(session, asker, made.id)
            # Another one has it paused in this moment.
            with suppress(Conflict), database.write() as session:
                deliveries.send_again(session, asker, made.id, message)

        with ThreadPoolExecutor(4) as pool:
            working = [pool.submit(Evaluator(database, settings).drain) for _ in range(2)]
            list(pool.map(press, sent[:3]))
            for work in working:
                work.result()
        hooks.make_due(database)
        Evaluator(database, settings).drain()
    counted = Counter(headers["webhook-id"] for _, headers, _ in received.taken)
    assert set(counted) == set(sent)
    with database.write() as session:
        assert set(session.scalars(select(WebhookDelivery.state))) == {"sent"}
        webhooks.stop(session, OPERATOR, made.id)


def test_webhooks_follow_a_team_that_joins_another(both: Teams) -> None:
    """Those of the team that joins are the other's, and its members see them."""
    number = hooks.webhook(both.database, both.bob, team_id=both.bears).id
    both.merge()
    with both.database.read() as session:
        page = webhook_page(session, both.viewer(both.ann), number)
    assert (page.team_id, page.webhook.state) == (both.owls, "active")
