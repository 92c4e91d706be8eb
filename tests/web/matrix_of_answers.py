"""Who may open which address of answers and nuggets; of a task of rankings there are none."""

SUFFIXES = ("", ".json", ".csv", ".tex")

ANSWERS: dict[tuple[str, str], tuple[int, ...]] = {
    **{("GET", f"/runs/{{run}}/answers/1{suffix}"): (404,) * 6 for suffix in SUFFIXES},
    **{("GET", f"/tasks/robots/topics/1/nuggets{suffix}"): (404,) * 6 for suffix in SUFFIXES},
}
