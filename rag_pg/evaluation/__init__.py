"""A set of questions and what answers them -> a run, its judges' scores, files.

Questions are read from files or made from chunks; a run asks each and records what was found.

What users call is in `client`, what they type in `cli`, what they get in `types`.
"""
