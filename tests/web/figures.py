"""One figure of every kind, with awkward names, drawn by the macros."""

import math

from flask import Flask

from leaderboard.web import charts

LONG = "a-very-long-run-name-of-many-parts-2024-final"
AWKWARD = '<b>"R&D"</b>'
NAMES = ["bm25", LONG, AWKWARD, "monoT5-3b-rerank", "covidex.t5", "東京-dense", "Spärck", "okapi"]

PAGE = """
{% from "macros/charts.html" import bars, signed_bars, intervals %}
{% from "macros/plots.html" import scatter, lines %}
{% from "macros/orders.html" import slopes, rankings %}
{% from "macros/matrix.html" import matrix_table %}
{{ bars(f.bars, "bars", "Scores by topic", "One bar a topic.", ["/t/1", "/t/2"]) }}
{{ signed_bars(f.signed, "signed", "By topic", "Largest first.", "bm25 higher on 1", "okapi on 1") }}
{{ intervals(f.few, "few", "From bm25", "Paired.", "difference in AP", "may be the best", reference="bm25") }}
{{ intervals(f.many, "many", "Differences from bm25", "Paired.", "difference in AP", "may be the best") }}
{{ scatter(f.scatter, "scatter", "bm25 against okapi", "One mark a topic.", "bm25", "okapi") }}
{{ scatter(f.cloud, "cloud", "bm25 against okapi", "One mark a topic.", "bm25", "okapi") }}
{{ lines(f.lines, "lines", "Precision at recall", "Eleven points.", "recall", "precision") }}
{{ slopes(f.slopes, "slopes", "Ranks", "By two measures.", "AP", "nDCG@10") }}
{{ slopes(f.crowd, "crowd", "Ranks", "By two measures.", "AP", "nDCG@10") }}
{{ rankings(f.rankings, "rankings", "Topic 401", "The top ranks.", "bm25", "okapi") }}
{{ matrix_table(f.matrix, "All pairs under Holm.") }}
"""
NOTHING = """
{% from "macros/charts.html" import bars, signed_bars, intervals %}
{% from "macros/plots.html" import scatter, lines %}
{% from "macros/orders.html" import slopes, rankings %}
{% from "macros/matrix.html" import matrix_table %}
{{ bars(c.bar_chart([], []), "a", "T", "D", []) }}
{{ signed_bars(c.signed_bars([]), "b", "T", "D", "", "") }}
{{ intervals(c.interval_chart([]), "c", "T", "D", "axis") }}
{{ scatter(c.scatter_chart([]), "d", "T", "D", "x", "y") }}
{{ lines(c.line_chart([]), "e", "T", "D", "x", "y") }}
{{ slopes(c.slope_chart([]), "f", "T", "D", "x", "y") }}
{{ rankings(c.rankings_chart([], []), "g", "T", "D", "x", "y") }}
{{ matrix_table(c.matrix([], []), "None.") }}
"""


def page(app: Flask) -> str:
    """The markup of all figures."""
    return app.jinja_env.from_string(PAGE).render(f=_figures())


def empty_page(app: Flask) -> str:
    """The markup of every figure without anything to show."""
    return app.jinja_env.from_string(NOTHING).render(c=charts)


def _figures() -> dict[str, object]:
    return {
        "bars": charts.bar_chart([0.7, 0.2], ["1: 0.7000", "2: 0.2000"]),
        "signed": charts.signed_bars(
            [charts.Difference("1", 0.3, "/t/1"), charts.Difference("2", -0.2), charts.Difference("3", 0.0)]
        ),
        "few": charts.interval_chart(_intervals(8)),
        "many": charts.interval_chart([*_intervals(129), charts.Interval("one", 0.0, -math.inf, math.inf)]),
        "scatter": charts.scatter_chart(
            [charts.Pair(f"4{at:02}", at / 40, 0.5, f"/t/{at}") for at in range(40)]
        ),
        "cloud": charts.scatter_chart(
            [charts.Pair(str(at), at % 97 / 97, at % 89 / 89) for at in range(900)]
        ),
        "lines": charts.line_chart(
            [
                charts.Curve(name, [(at / 10, 0.9 - at / 20 - place / 30) for at in range(11)])
                for place, name in enumerate(NAMES)
            ]
        ),
        "slopes": charts.slope_chart(_ranks(8)),
        "crowd": charts.slope_chart(_ranks(129)),
        "rankings": charts.rankings_chart(_ranked(0), _ranked(5)),
        "matrix": _matrix(),
    }


def _name(place: int) -> str:
    return NAMES[place] if place < len(NAMES) else f"{NAMES[place % len(NAMES)]}-{place}"


def _intervals(count: int) -> list[charts.Interval]:
    return [
        charts.Interval(
            _name(at),
            -at / 500,
            -at / 500 - 0.03,
            -at / 500 + 0.03,
            "reference" if at == 0 else "highlight" if at < 3 else "plain",
            f"/runs/{at}",
        )
        for at in range(count)
    ]


def _ranks(count: int) -> list[charts.Ranks]:
    return [
        charts.Ranks(_name(at), at + 1, (at * 7) % count + 1, None if at % 2 else f"/runs/{at}")
        for at in range(count)
    ]


def _ranked(start: int) -> list[charts.Ranked]:
    grades = (None, 0, 1, 2)
    return [
        charts.Ranked(
            f"clueweb09-en0000-00-{at:05}", grades[at % 4], f"/documents/{at}", 40 if at % 2 else None
        )
        for at in range(start, start + 10)
    ]


def _matrix() -> charts.Matrix:
    places = range(len(NAMES))
    return charts.matrix(
        NAMES,
        [
            [(row < column) - (row > column) if abs(row - column) > 2 else 0 for column in places]
            for row in places
        ],
        notes=[["p = .01"] * len(NAMES)] * len(NAMES),
        hrefs=[f"/runs/{at}" for at in places],
        cell_hrefs=[[f"/compare?a={row}&b={column}" for column in places] for row in places],
    )
