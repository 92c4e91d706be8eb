"""Documents files to documents, blocks of documents for the database, and a filter of known docnos."""

