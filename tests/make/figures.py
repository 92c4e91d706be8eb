"""One figure of every kind, with awkward names, drawn by the macros."""

import math

from flask import Flask

from leaderboard.web import charts

LONG = "a-very-long-run-name-of-many-parts-2024-final"
AWKWARD = '<b>"R&D"</b>'
NAMES = ["bm25", LONG, AWKWARD, "monoT5-3b-rerank", "covidex.t5", "東京-dense", "Spärck", "okapi"]

PAGE = """
{% from "macros/charts.html" import bars, signed_bars, intervals %}
{% from "macros/plots.html" import scatter, lines, pareto %}
{% from "macros/strips.html" import strips, strip_cell, range_bars, rank_strip, score_strip %}
{% from "macros/orders.html" import slopes, rankings %}
{% from "macros/matrix.html" import matrix_table %}
{% from "macros/heat.html" import heat_legend, heat_difference_legend %}
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
{{ strips(f.strips, "strips", "Difficulty", "By AP.", "AP", "okapi") }}
{{ range_bars(f.ranges, "ranges", "AP by topic", "Best lead first.", "okapi") }}
{{ rank_strip(f.ranks, "ranks", "Relevant documents by rank", "In okapi.") }}
{{ score_strip(f.scores, "scores", "Every run on topic 401", "One dot a run.", "AP") }}
{{ pareto(f.pareto, "pareto", "AP against latency", "One mark a run.", "milliseconds", "AP") }}
{{ matrix_table(f.matrix, "All pairs under Holm.") }}
<p>{{ strip_cell(f.cell) }}</p>
{{ heat_legend(0.0, 1.0, 1) }}{{ heat_difference_legend(0.35, 2) }}
"""
NOTHING = """
{% from "macros/charts.html" import bars, signed_bars, intervals %}
{% from "macros/plots.html" import scatter, lines, pareto %}
{% from "macros/strips.html" import strips, strip_cell, range_bars, rank_strip, score_strip %}
{% from "macros/orders.html" import slopes, rankings %}
{% from "macros/matrix.html" import matrix_table %}
{{ bars(c.bar_chart([], []), "a", "T", "D", []) }}
{{ signed_bars(c.signed_bars([]), "b", "T", "D", "", "") }}
{{ intervals(c.interval_chart([]), "c", "T", "D", "axis") }}
{{ scatter(c.scatter_chart([]), "d", "T", "D", "x", "y") }}
{{ lines(c.line_chart([]), "e", "T", "D", "x", "y") }}
{{ slopes(c.slope_chart([]), "f", "T", "D", "x", "y") }}
{{ rankings(c.rankings_chart([], []), "g", "T", "D", "x", "y") }}
{{ strips(c.strip_chart([]), "h", "T", "D", "axis") }}
{{ range_bars(c.range_chart([]), "i", "T", "D", "run") }}
{{ rank_strip(c.rank_strip([]), "j", "T", "D") }}
{{ score_strip(c.score_strip([]), "k", "T", "D", "axis") }}
{{ pareto(c.pareto_chart([]), "l", "T", "D", "x", "y") }}
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
        "strips": charts.strip_chart([_spread(at) for at in range(30)]),
        "cell": charts.strip(_spread(3)),
        "ranges": charts.range_chart(
            [
                charts.Range(f"4{at:02}", 0.0, 0.4, 0.9, 0.8 if at == 7 else 0.4, f"/t/{at}")
                for at in range(50)
            ]
            + [charts.Range("450", 0.0, 0.4, 0.9, 0.1)]
        ),
        "ranks": charts.rank_strip([(None, 0, 1, 2)[at % 4] for at in range(150)]),
        "scores": charts.score_strip(
            [
                charts.Scored(_name(at), at % 31 / 31, f"/runs/{at}", "highlight" if at == 1 else "plain")
                for at in range(129)
            ]
        ),
        "pareto": charts.pareto_chart(
            [charts.Pair(_name(at), 3.0**at, at % 5 / 5, f"/runs/{at}") for at in range(14)]
        ),
    }


def _spread(at: int) -> charts.Spread:
    low = at / 60
    return charts.Spread(f"4{at:02}", low, low + 0.1, low + 0.2, low + 0.3, low + 0.4, None, 0.3, f"/t/{at}")


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
