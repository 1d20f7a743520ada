"""Rules about the training step itself and what runs between two steps."""
