"""Frozen values, one noun per module. `None` means unknown; no value here does I/O or reads a clock."""
