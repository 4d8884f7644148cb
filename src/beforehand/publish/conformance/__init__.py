"""How far a league keeps to the standard: its 17 requirements as checks over public files."""
