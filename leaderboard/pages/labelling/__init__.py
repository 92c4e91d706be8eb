"""What organisers and assessors see of the making of nuggets and labels."""
