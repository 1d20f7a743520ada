"""Pure: a run's times and facts go in, the verdict comes out."""
