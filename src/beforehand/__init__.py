"""Forecasts by AI models, sealed before the outcome, scored after it, checkable by anyone.

Importing the package loads nothing: each room is imported where it is used.
"""

__version__ = "0.1.0"
