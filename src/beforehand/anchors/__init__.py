"""Who else saw it: evidence from outside the operator that a checkpoint existed by a time."""
