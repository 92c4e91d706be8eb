"""Colours of a heat map as classes of the style sheet, which has a step for light, dark and print."""

import math

STEPS = 10
SIDES = 3


def heat_step(value: float, low: float, high: float) -> str:
    """One of ten equal steps from low to high; what lies outside takes the nearer end.

    >>> [heat_step(value, 0.0, 1.0) for value in (0.0, 0.55, 1.0)], heat_step(3.0, 3.0, 3.0)
    (['step-0', 'step-5', 'step-9'], 'step-0')
    """
    share = (value - low) / (high - low) if high > low else 0.0
    return f"step-{min(max(math.floor(share * STEPS + 1e-9), 0), STEPS - 1)}"


def heat_difference(value: float, widest: float) -> str:
    """One of seven equal steps from -widest to widest, the middle one around zero.

    >>> [heat_difference(value, 0.3) for value in (-0.3, 0.01, 0.1, 9.0)]
    ['down-3', 'level', 'up-1', 'up-3']
    """
    steps = 2 * SIDES + 1
    reach = math.ceil(abs(value) / widest * steps / 2 - 0.5 - 1e-9) if widest > 0 else 0
    if reach <= 0:
        return "level"
    return f"{'up' if value > 0 else 'down'}-{min(reach, SIDES)}"


def heat_bounds(low: float, high: float) -> tuple[tuple[str, float, float], ...]:
    """Every step with its ends, lowest first, as a legend names them.

    >>> heat_bounds(0.0, 1.0)[5]
    ('step-5', 0.5, 0.6)
    """
    width = (high - low) / STEPS
    return tuple(
        (f"step-{step}", round(low + step * width, 12), round(low + (step + 1) * width, 12))
        for step in range(STEPS)
    )


def heat_difference_bounds(widest: float) -> tuple[tuple[str, float, float], ...]:
    """Every step of differences with its ends, lowest first.

    >>> [(name, round(low, 2), round(high, 2)) for name, low, high in heat_difference_bounds(0.35)][2:4]
    [('down-1', -0.15, -0.05), ('level', -0.05, 0.05)]
    """
    width = 2 * widest / (2 * SIDES + 1)
    names = [
        *(f"down-{step}" for step in range(SIDES, 0, -1)),
        "level",
        *(f"up-{step}" for step in range(1, SIDES + 1)),
    ]
    return tuple(
        (name, round(-widest + step * width, 12), round(-widest + (step + 1) * width, 12))
        for step, name in enumerate(names)
    )
