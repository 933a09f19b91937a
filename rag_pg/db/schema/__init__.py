"""A database -> schema rag in it, as this program needs it: installed, upgraded, compared."""

from rag_pg.db.schema.api import make_api
from rag_pg.db.schema.install import check, ensure, plan, upgrade
from rag_pg.db.schema.name import check_name
from rag_pg.db.schema.packaged import share, sql_files
from rag_pg.db.schema.scale import scale_out
from rag_pg.db.schema.transaction import LOCK_KEY
from rag_pg.db.schema.typescript import typescript
