"""The pages of revisions of judgments: lists, previews, changes."""
