"""Operations on measures and scores: rules, changes and queries."""
