"""Rows and results -> frozen values, named as the SQL output columns are, for every package."""

from rag_pg.types.admin import Finding, StatusLine
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
from rag_pg.types.collection import CollectionInfo, CollectionStats, Space, SpaceComparison
from rag_pg.types.document import (
    AddReport,
    AdoptReport,
    Document,
    Facet,
    Loaded,
    LoadFailure,
    Original,
    Progress,
    Skipped,
    Span,
    SyncReport,
)
from rag_pg.types.enrichment import Enrichment, EnrichmentEstimate, EnrichmentSize, RulePreview
from rag_pg.types.evaluation import (
    EvalDrift,
    EvalImport,
    EvalMetric,
    EvalQuery,
    EvalRun,
    EvalSet,
    JudgeAgreement,
    JudgedAnswer,
    JudgeReport,
    QueryComparison,
    Rejected,
    RunComparison,
)
from rag_pg.types.function import FunctionArgument, FunctionInfo
from rag_pg.types.gate import Gate, GateCheck, GateResult
from rag_pg.types.history import (
    DocumentText,
    DocumentVersion,
    Erasure,
    LineChange,
    LoggedAnswer,
    ReplayedCitation,
)
from rag_pg.types.hit import Hit, Hits, Leg, Method, Passage, TermMatch
from rag_pg.types.job import Job, JobCounts
from rag_pg.types.live import RecallMeasure, Replay, ReplayedQuery
from rag_pg.types.message import Capabilities, Completion, Finish, Message, Source, Tool, ToolCall
from rag_pg.types.metadata import MetadataField, ValueMatch
from rag_pg.types.route import MetadataQuery, MetadataResult, Route
from rag_pg.types.tool import TOOL_SECONDS, AgentTool, ToolResult, Toolset
from rag_pg.types.usage import ModelUsage, Step, Usage, UsageLine
from rag_pg.types.vector import Scores, Vectors
from rag_pg.types.view import ExposedView, ViewColumn

__all__ = [
    "PROVEN",
    "TOOL_SECONDS",
    "AddReport",
    "AdoptReport",
    "Advice",
    "AgentTool",
    "Answer",
    "Assessment",
    "AuditFinding",
    "CacheStats",
    "Calibration",
    "Capabilities",
    "CheckedQuote",
    "Citation",
    "CitationStatus",
    "CollectionInfo",
    "CollectionStats",
    "Completion",
    "Document",
    "DocumentText",
    "DocumentVersion",
    "Enrichment",
    "EnrichmentEstimate",
    "EnrichmentSize",
    "Erasure",
    "EvalDrift",
    "EvalImport",
    "EvalMetric",
    "EvalQuery",
    "EvalRun",
    "EvalSet",
    "Event",
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
    "Hit",
    "Hits",
    "Job",
    "JobCounts",
    "JudgeAgreement",
    "JudgeReport",
    "JudgedAnswer",
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
    "ModelUsage",
    "Original",
    "Passage",
    "Progress",
    "QueryComparison",
    "RecallMeasure",
    "Rejected",
    "Replay",
    "ReplayedCitation",
    "ReplayedQuery",
    "Route",
    "RulePreview",
    "RunComparison",
    "Scores",
    "Skipped",
    "Source",
    "Space",
    "SpaceComparison",
    "Span",
    "StatusLine",
    "Step",
    "SyncReport",
    "TermMatch",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Toolset",
    "Usage",
    "UsageLine",
    "ValueMatch",
    "Vectors",
    "ViewColumn",
    "Zone",
]
