"""The verbs: the only code that appends to a book."""
