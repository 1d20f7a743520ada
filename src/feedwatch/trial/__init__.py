"""Trials: variants of the user's own input in turns, measured in the user's own loop. Pure: time is an argument."""
