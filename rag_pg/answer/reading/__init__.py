"""What a sentence says: its numbers, units, dates, names, negations and order, its words and its
form."""
