"""Operations of judges: rules, changes and queries."""
