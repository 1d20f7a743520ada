"""What feedwatch promises, measured: overhead, accuracy, known causes."""
