"""What the scripted loop of `run_own_loops` takes."""

WAIT_MS, COMPUTE_MS, STEPS = 12.0, 6.0, 30
