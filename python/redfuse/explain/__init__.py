"""What a program became and why, for people: texts, formulas, certificates."""
