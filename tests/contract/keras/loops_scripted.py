"""The times that run_loops.py scripts, for the test that reads its results in another process."""

GAP_MS = 300.0
ITEM_MS = 2.0
