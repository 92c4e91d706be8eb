"""Names people give to accounts and teams, and the folded form in which look-alikes collide."""

from unicodedata import category, normalize

from leaderboard.errors import Invalid, Problem

MAX_CHARACTERS = 60
_ROUNDS = 8


def canonical(name: str) -> str:
    """The name with case, compatibility forms and spacing folded away; folding again changes nothing.

    Two names that differ only so are one account or team. Letters of different scripts that look alike
    are not folded.

    >>> canonical("  Ａlice   SMITH ")
    'alice smith'
    """
    for _ in range(_ROUNDS):
        folded = " ".join(normalize("NFKC", name.casefold()).split())
        if folded == name:
            break
        name = folded
    return name


def displayed(name: str, what: str) -> str:
    """The name as it will be shown: composed, without spaces at its ends and doubled ones.

    what is the thing named, for messages. Raises Invalid for an empty or long name, or one with
    characters that cannot be seen.
    """
    tidy = " ".join(normalize("NFC", name).split())
    rule = _broken_rule(tidy, what)
    if rule:
        raise Invalid(
            rule, [Problem(rule, "Choose another name.", field="name", value=tidy[:MAX_CHARACTERS])]
        )
    return tidy


def _broken_rule(name: str, what: str) -> str:
    if not any(character.isalnum() for character in name):
        return f"The name of {what} needs at least one letter or digit."
    if len(name) > MAX_CHARACTERS:
        return f"The name of {what} may have at most {MAX_CHARACTERS} characters."
    if any(category(character).startswith("C") for character in name):
        return f"The name of {what} may not hold invisible or control characters."
    return ""
