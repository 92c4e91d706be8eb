"""What operators of the site see."""
