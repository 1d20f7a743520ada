"""The report value, its renderers, and the bounded sink that writes it."""
