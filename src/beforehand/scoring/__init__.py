"""How good it was: pure functions, values in, values out."""
