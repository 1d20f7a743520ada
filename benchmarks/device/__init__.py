"""The device path on the emulated accelerator: how exact its clock is, what it costs, what advice gains."""
