"""Marks become step records, step records become windows. Standard library only: this is the hot path."""
