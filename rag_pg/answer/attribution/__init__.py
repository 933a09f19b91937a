"""Whether what an answer says stands in the sources that it was written from."""
