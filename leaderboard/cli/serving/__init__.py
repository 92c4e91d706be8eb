"""`leaderboard serve`: the processes of a site, from their start to their end."""
