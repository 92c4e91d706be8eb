"""Addresses for pages elsewhere: badges, cards, frames, and what programs ask about an address."""
