"""Operations of judging: rules, changes and queries."""
