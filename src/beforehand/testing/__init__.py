"""Fakes and small leagues, shipped for those who write plugins and tests."""
