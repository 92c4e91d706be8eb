"""What other topics would show: reliability, power, components of variance."""
