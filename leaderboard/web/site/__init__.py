"""The addresses of operators, under /site."""
