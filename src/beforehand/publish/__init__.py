"""What anyone can recompute: folds over the book, pure and offline."""
