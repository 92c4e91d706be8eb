"""Operations on boards: rules, changes and queries."""
