"""Commands of what ranks runs beside a task's own board: snapshots of boards, suites of tasks."""
