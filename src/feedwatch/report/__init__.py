"""The report: built, rendered, written, read back, merged over ranks, and compared with another."""
