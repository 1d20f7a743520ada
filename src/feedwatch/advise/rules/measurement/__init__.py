"""Notices about what could not be measured."""
