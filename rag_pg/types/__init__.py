"""Rows and results -> frozen values, named as the SQL output columns are, for every package."""

from rag_pg.types.admin import Finding, Metric, StatusLine
from rag_pg.types.answer import (
    PROVEN,
    Answer,
    CheckedQuote,
    Citation,
    CitationStatus,
    Event,
    Freshness,
)
from rag_pg.types.audit import Advice, AuditFinding
from rag_pg.types.cache import CacheStats
from rag_pg.types.calibration import Assessment, Calibration, Zone
from rag_pg.types.collection import (
    CollectionInfo,
    CollectionStats,
    CosineSpread,
    Space,
    SpaceComparison,
)
from rag_pg.types.document import (
    AddReport,
    AdoptReport,
    Chunk,
    ChunkCount,
    Document,
    Existing,
    Facet,
    Loaded,
    LoadFailure,
    Original,
    Progress,
    Skipped,
    Span,
    SyncReport,
    Unchanged,
)
from rag_pg.types.enrichment import Enrichment, EnrichmentEstimate, EnrichmentSize, RulePreview
from rag_pg.types.function import FunctionArgument, FunctionInfo
from rag_pg.types.gate import EvalQuery, Gate, GateCheck, GateResult
from rag_pg.types.history import (
    DocumentText,
    DocumentVersion,
    Erasure,
    LineChange,
    LoggedAnswer,
    ReplayedCitation,
)
from rag_pg.types.hit import Hit, Hits, Leg, Method, Passage, SearchCheck, TermMatch
from rag_pg.types.job import Job, JobCounts, WorkerInfo
from rag_pg.types.json import to_json
from rag_pg.types.message import Capabilities, Completion, Finish, Message, Source, Tool, ToolCall
from rag_pg.types.metadata import MetadataField, ValueMatch
from rag_pg.types.options import (
    SHORT,
    Adoption,
    Alteration,
    CollectionOptions,
    Grouping,
    StatementOptions,
    ViewQuery,
    without_none,
)
from rag_pg.types.route import MetadataQuery, MetadataResult, Route
from rag_pg.types.service_key import ServiceKey, UsedKey
from rag_pg.types.table import as_table
from rag_pg.types.tool import TOOL_SECONDS, AgentTool, ToolResult, Toolset
from rag_pg.types.usage import Budget, ModelUsage, Step, Usage, UsageLine
from rag_pg.types.vector import Scores, Vectors
from rag_pg.types.view import ExposedView, ViewColumn

__all__ = [
    "PROVEN",
    "SHORT",
    "TOOL_SECONDS",
    "AddReport",
    "AdoptReport",
    "Adoption",
    "Advice",
    "AgentTool",
    "Alteration",
    "Answer",
    "Assessment",
    "AuditFinding",
    "Budget",
    "CacheStats",
    "Calibration",
    "Capabilities",
    "CheckedQuote",
    "Chunk",
    "ChunkCount",
    "Citation",
    "CitationStatus",
    "CollectionInfo",
    "CollectionOptions",
    "CollectionStats",
    "Completion",
    "CosineSpread",
    "Document",
    "DocumentText",
    "DocumentVersion",
    "Enrichment",
    "EnrichmentEstimate",
    "EnrichmentSize",
    "Erasure",
    "EvalQuery",
    "Event",
    "Existing",
    "ExposedView",
    "Facet",
    "Finding",
    "Finish",
    "Freshness",
    "FunctionArgument",
    "FunctionInfo",
    "Gate",
    "GateCheck",
    "GateResult",
    "Grouping",
    "Hit",
    "Hits",
    "Job",
    "JobCounts",
    "Leg",
    "LineChange",
    "LoadFailure",
    "Loaded",
    "LoggedAnswer",
    "Message",
    "MetadataField",
    "MetadataQuery",
    "MetadataResult",
    "Method",
    "Metric",
    "ModelUsage",
    "Original",
    "Passage",
    "Progress",
    "ReplayedCitation",
    "Route",
    "RulePreview",
    "Scores",
    "SearchCheck",
    "ServiceKey",
    "Skipped",
    "Source",
    "Space",
    "SpaceComparison",
    "Span",
    "StatementOptions",
    "StatusLine",
    "Step",
    "SyncReport",
    "TermMatch",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Toolset",
    "Unchanged",
    "Usage",
    "UsageLine",
    "UsedKey",
    "ValueMatch",
    "Vectors",
    "ViewColumn",
    "ViewQuery",
    "WorkerInfo",
    "Zone",
    "as_table",
    "to_json",
    "without_none",
]
