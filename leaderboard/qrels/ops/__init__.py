"""Operations on judgments."""
