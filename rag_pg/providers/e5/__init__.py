"""Texts in about a hundred languages -> vectors, by multilingual-e5-small in 4 bit."""
