"""The state of the site in numbers, for Prometheus: with a token, or from this machine itself."""

import hmac
import logging
from collections.abc import Iterable

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.datastructures import WWWAuthenticate

from leaderboard.errors import Forbidden
from leaderboard.pages.site import metrics as pages
from leaderboard.pages.site.metrics import Metric
from leaderboard.settings import Settings, is_loopback
from leaderboard.web.metrics import exposition, request_counts
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import BEARER, client_ip, reading, settings

log = logging.getLogger(__name__)
blueprint = Blueprint("metrics", __name__)

PROXIES_SAY = ("Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host")
"""Headers by which a proxy tells that it stands between."""


@blueprint.get("/metrics")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """All metrics as text. 401 without the right token; without any, 403 to all but this machine itself.

    A database that does not answer is a metric too, not an error: the rest is told all the same.
    """
    here = settings()
    if here.metrics_token:
        if not _has_token(here):
            return _refused()
    elif not _is_this_machine(here):
        raise Forbidden(
            "Metrics are for who runs this site. Its operator sets LEADERBOARD_METRICS_TOKEN and sends it as "
            "`Authorization: Bearer TOKEN`; without one, only this machine itself may ask, past every proxy."
        )
    counted = exposition.requests(request_counts.counted())
    response = Response(exposition.text((*pages.about(here), *_of_database(), *counted)))
    response.headers["Content-Type"] = exposition.MIMETYPE
    response.headers["Cache-Control"] = "no-store"
    return response


def _of_database() -> Iterable[Metric]:
    try:
        return (*pages.site_metrics(reading()), pages.database_state(answers=True))
    except SQLAlchemyError as error:
        log.warning("the database does not answer: %s", error)
        return (pages.database_state(answers=False),)


def _has_token(here: Settings) -> bool:
    given = request.headers.get("Authorization", "")
    return hmac.compare_digest(given.encode(), f"{BEARER}{here.metrics_token}".encode())


def _is_this_machine(here: Settings) -> bool:
    """Whether a program of this machine asks directly.

    Through a proxy on this machine everybody seems to be on it. So nobody is where a proxy or a name of the
    site's own is set, or where a header tells of one.
    """
    return (
        not here.public_url
        and not here.trusted_hosts
        and is_loopback(client_ip())
        and not any(name in request.headers for name in PROXIES_SAY)
    )


def _refused() -> Response:
    response = Response("Send the token as `Authorization: Bearer TOKEN`.\n", 401, mimetype="text/plain")
    response.www_authenticate = WWWAuthenticate("bearer", {"realm": "metrics"})
    return response
