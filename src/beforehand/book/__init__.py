"""When it was said: the frozen core. Standard library only."""
