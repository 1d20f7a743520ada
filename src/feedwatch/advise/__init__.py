"""Pure: a case goes in, findings with gains come out. One module per rule; rules never know each other."""
