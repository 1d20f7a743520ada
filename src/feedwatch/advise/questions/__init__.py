"""What rules ask of a case. Each answer is None when a fact for it is missing: the rule then stays silent."""
