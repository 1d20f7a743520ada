"""feedwatch tells you why training waits for data, and what to change.

Nothing is imported here: TensorBoard loads this package at every start, and `import feedwatch` must stay
a matter of milliseconds. The doors are `feedwatch.keras` and `feedwatch.lightning`.
"""

__version__ = "0.2.0"
