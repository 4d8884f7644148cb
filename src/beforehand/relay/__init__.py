"""What stands between a league and the outside: the intake of submissions, alerts, metrics."""
