"""The demo's tasks, loaded by the roads any user takes."""
