"""queued jobs -> stored chunks with vectors.

What works the queue, answers requests and follows sources.
"""

from rag_pg.worker.health import serve_health
from rag_pg.worker.provider_budget import take_budgets
from rag_pg.worker.worker import Worker
