"""The pages of a league: static files, made from the fold alone, offline."""
