"""What an account has going on: its tasks, its teams' runs and uploads."""
