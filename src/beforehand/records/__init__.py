"""What is said: frozen values, no I/O, standard library only."""
