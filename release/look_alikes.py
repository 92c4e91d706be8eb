"""The list of characters that look alike, made from Unicode's own.

python -m release.look_alikes confusables.txt

Unicode publishes that file with each version of security data (https://www.unicode.org/Public/security/).
"""

import sys
from collections import defaultdict
from pathlib import Path

TARGET = Path(__file__).parents[1] / "leaderboard" / "accounts" / "ops" / "look_alikes.txt"
DATE = "# Date: "


def look_alikes(text: str) -> str:
    """The list as `leaderboard.accounts.ops.names` reads it: what to write instead; of which characters.

    >>> dated = "# Date: 2026-01-01, 10:00:00 GMT"
    >>> print(look_alikes(f"{dated}\\n0441 ; 0063 ; MA # c\\n03F2 ; 0063 ; MA\\n"))
    # From Unicode's confusables.txt of 2026-01-01.
    0063; 03F2 0441
    <BLANKLINE>
    """
    date, sources = "", defaultdict[str, list[str]](list)
    for line in text.removeprefix("\ufeff").splitlines():
        if line.startswith(DATE):
            date = line.removeprefix(DATE).partition(",")[0]
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) >= 3:
            sources[fields[1]].append(fields[0])
    if not date or not sources:
        raise ValueError("this is not Unicode's confusables.txt: it has no date, or no characters")
    lines = [f"{instead}; {' '.join(sorted(of))}" for instead, of in sorted(sources.items())]
    return "\n".join([f"# From Unicode's confusables.txt of {date}.", *lines]) + "\n"


def main(path: Path) -> None:
    """Write the list anew, under the licence that it has."""
    old = TARGET.read_text(encoding="utf-8").splitlines()
    licence = [line for line in old if line.startswith("#") and not line.startswith("# From ")]
    made = look_alikes(path.read_text(encoding="utf-8"))
    TARGET.write_text("\n".join(licence) + "\n" + made, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
