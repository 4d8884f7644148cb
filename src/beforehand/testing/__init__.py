"""Replicas of venues and models, stand-ins and fakes, for rehearsals, plugins and tests."""
