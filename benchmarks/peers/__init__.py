"""Other people's tools on the same workloads, each in an environment of its own."""
