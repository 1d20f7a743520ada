"""One module per rule; each exports `RULE` and knows no other rule."""
