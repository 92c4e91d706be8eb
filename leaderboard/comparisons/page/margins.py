"""A run against a baseline and a margin: sentences, and plain values for JSON."""

from typing import Any

from leaderboard.scoring.ops.statistics.standings import undecided_pair
from leaderboard.stats.gates import ALPHA, Gated
from leaderboard.stats.standing import POWER


def sentences(found: Gated, run: str, baseline: str, digits: int) -> list[str]:
    """The verdict, what it rests on, and what more topics would do."""
    texts = (
        verdict_sentence(found, run, baseline),
        evidence_sentence(found, digits),
        power_sentences(found, baseline),
    )
    return [sentence for sentence in texts if sentence]


def verdict_sentence(found: Gated, run: str, baseline: str) -> str:
    """The verdict, and what may be misread in it."""
    by_more = f"than {baseline} by more than {found.margin:g}"
    if found.verdict == "better":
        return f"{run} is better than {baseline}."
    if found.verdict == "no worse":
        return (
            f"{run} is no worse {by_more}.{' It is worse, but within the margin.' if found.is_loss else ''}"
        )
    if found.verdict == "worse":
        return f"{run} is worse {by_more}."
    topics = "One topic" if found.topics == 1 else f"These {found.topics:,} topics"
    loss = " It is worse, but perhaps within the margin." if found.is_loss else ""
    return f"{topics} cannot tell whether {run} is worse {by_more}.{loss}"


def evidence_sentence(found: Gated, digits: int) -> str:
    """The difference with both bounds, and their confidence."""
    difference = f"Difference {found.difference:+.{digits}f}"
    if found.is_constant:
        return f"{difference} on every topic, so nothing is left to chance."
    if found.low is None or found.high is None:
        return f"{difference}."
    return (
        f"{difference}, from {found.low:+.{digits}f} to {found.high:+.{digits}f} (each end with "
        f"{1 - ALPHA:.0%} confidence)."
    )


def power_sentences(found: Gated, baseline: str) -> str:
    """Power with these topics, and the number that would settle it; empty where nothing varies."""
    if found.power is None or found.is_constant:
        return ""
    sentences = [
        f"Power: {found.topics:,} topics find a run as good as {baseline} no worse in {found.power:.0%} of "
        "cases."
    ]
    if found.topics_for_power is not None and found.power < POWER:
        sentences.append(f"{POWER:.0%} takes {found.topics_for_power:,} topics.")
    if found.verdict == "cannot tell":
        sentences.append(undecided_pair(found.topics, found.topics_needed))
    return " ".join(sentences)


def margin_facts(found: Gated) -> dict[str, Any]:
    """The verdict as plain values at full precision."""
    return {
        "verdict": found.verdict,
        "margin": found.margin,
        "difference": found.difference,
        "interval": [found.low, found.high],
        "p": found.p._asdict(),
        "level": found.levels.no_worse,
        "power": found.power,
        "topics_for_power": found.topics_for_power,
        "topics_needed": found.topics_needed,
    }
