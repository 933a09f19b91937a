"""bytes -> Loaded.

Files are found, decoded and read; what they hold comes out as text with metadata.
"""

from rag_pg.load.decode import decode_as
from rag_pg.load.discover import find_files, uri_of
from rag_pg.load.files import MAX_FILE_BYTES, load_bytes, load_documents, load_file, read_documents
from rag_pg.load.formats import SUPPORTED, display_path
from rag_pg.load.markup import parse_xml
