"""Operations that read what pages show: tables a part at a time, facts whole, files as they are."""
