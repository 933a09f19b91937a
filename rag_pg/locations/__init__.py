"""location -> what is there now, as documents.

A location is a folder, a prefix of a store, a website or a repository. What has not changed since
is not read.
"""

from rag_pg.locations.addresses import Network
from rag_pg.locations.kinds import open_location
from rag_pg.locations.location import Item, Limits, Location
from rag_pg.locations.secrets import without_secrets
