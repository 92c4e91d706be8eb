"""Document files, blocks of stored documents, and marked words in their texts."""
