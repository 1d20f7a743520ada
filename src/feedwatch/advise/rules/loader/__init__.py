"""Rules about batches that are made in Python: a DataLoader, a PyDataset, a generator."""
