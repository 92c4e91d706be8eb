"""Labels of answers by assessors: rounds, decisions and settled labels."""
