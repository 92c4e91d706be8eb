"""What tests and benchmarks make: sites, files, people."""

from leaderboard.services import run_kinds

run_kinds.register()
