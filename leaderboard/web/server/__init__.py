"""The web server: waitress with limits on connections, on bodies and on those who are slow."""
