"""One module per rule, in a folder by kind. Each exports `RULE` and knows no other rule; the registry finds it here."""
