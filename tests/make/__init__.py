"""What tests and benchmarks make: sites, files, people."""

from leaderboard import features

features.register()
