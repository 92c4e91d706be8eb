"""Commands that change a task there is: its settings, its people, what becomes of it."""
