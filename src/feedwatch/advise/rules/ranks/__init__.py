"""Rules about several ranks that are read together."""
