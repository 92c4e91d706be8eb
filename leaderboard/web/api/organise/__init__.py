"""Operations of who organises a task or coordinates its assessors."""
