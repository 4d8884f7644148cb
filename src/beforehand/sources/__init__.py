"""What the world says: readers of venues and of archives of other benchmarks."""
