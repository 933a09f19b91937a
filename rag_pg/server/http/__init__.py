"""a request over HTTP -> what the Python client gives for it: JSON, or events as they come."""

from rag_pg.server.http.app import make_app
from rag_pg.server.http.service import ServiceOptions
