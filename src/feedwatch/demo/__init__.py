"""A small stalled training run, diagnosed, mended and trained again. Written as a user's script would be."""
