"""What may be missing, busy or wrong: NVML, the CPU budget, profiler traces, and when to record one."""
