"""a request of another program -> what its role may read.

Each protocol is a package of its own, and a door: its library is imported with it.
"""
