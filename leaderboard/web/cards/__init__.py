"""What pages elsewhere show of this site: badges, frames, and what heads tell of a link."""
