"""The namespaces `evaluation` of the client, and the same for asyncio."""

from rag_pg.evaluation.client.aio import AsyncCollectionEvaluation, AsyncEvaluation
from rag_pg.evaluation.client.collection import CollectionEvaluation
from rag_pg.evaluation.client.runs import Evaluation
