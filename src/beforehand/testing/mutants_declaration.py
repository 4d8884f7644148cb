"""The declaration of the corpus's league. CLIMATOLOGY stands for the seal of its table."""

from __future__ import annotations

DECLARATION = """\
# A made-up league: it exists to be judged, and to be broken one fault at a time.
format = "beforehand-declaration/1"

[league]
name = "corpus"
title = "The valid league of the mutation corpus"
origin = "corpus.beforehand.example/corpus/book"
licence = "CC-BY-4.0"
attribution = "Made up by beforehand"

[segment]
name = "s1"
methodology = "1"
time = "live"
counted = true
why = "Made up for testing checkers. Nobody forecast anything."

[questions]
from = "made-up"
cluster = "venue_event"

[schedule]
kind = "cron"
cron = ["0 10 * * *"]
grace_minutes = 60
timezone = "UTC"
deadline_minutes = 60

[counted_run]
rule = "scheduled_run"
words = "The scheduled morning run counts; within it each seat's first well-formed answer."

[answers]
entry = "asked"
retry = "One retry after a failure to connect."

[[derived]]
forecaster = "crowd"
label = "crowd"
rule = "crowd"
price = "mid"
min_volume = "1000"

[[derived]]
forecaster = "mean"
label = "mean of all"
rule = "mean"
least = 2

[[derived]]
forecaster = "half"
label = "always 0.5"
rule = "always_half"

[[derived]]
forecaster = "climatology"
label = "climatology 2016 to 2025"
rule = "climatology"
first_year = 2016
last_year = 2025
sha256 = "CLIMATOLOGY"

[scoring]
primary = "brier"
grid = "0.0001"
clamp = "0.0001"

[board]
rank_by = "brier"
on = "own_questions"
weigh = "row"
min_events = 6
interval = "student_t"
confidence = "0.95"
min_clusters_interval = 3
shared_min = 5

[primary]
forecaster = "mean"
against = "climatology"
margin = "0.05"

[readers]
groups = ["blind", "seeing"]
assignment = "once_at_random"
counts = "first_per_question_and_session"
close = "reference"
addresses = "never_stored"

[anchors]
use = ["opentimestamps", "rfc3161", "rekor"]
margin_minutes = 120

[bodies]
answer = "deadline"
"""
