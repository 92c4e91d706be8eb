"""Which documents to judge, and judgments from what readers did."""
