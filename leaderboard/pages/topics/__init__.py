"""The pages of topics and their judged documents."""
