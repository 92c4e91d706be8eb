"""The pages of pools: what they may be made of, their audit and simulation."""
