"""Words that are no names: only this project would know what they mean."""

from collections.abc import Set

# Each stood for several things here. The field says, for instance: position, rank, ordinal; query
# term frequency, text, quotation; capacity, free slots; leased, stored; query, arguments; count.
OWN_WORDS = frozenset(("place", "places", "said", "room", "held"))
# In SQL, where names are the columns and arguments that others read.
OWN_WORDS_OF_SQL = OWN_WORDS | {"asked", "told", "times", "spare"}


def is_own(name: str, words: Set[str] = OWN_WORDS_OF_SQL) -> bool:
    """Whether a part of a name is such a word: _place, held_jobs, passage_room."""
    return not words.isdisjoint(name.lower().split("_"))
