"""Use cases: functions (session, ...) that return frozen dataclasses, never commit and know no HTTP."""
