"""Operations on answers and nuggets: rules, changes and queries."""
