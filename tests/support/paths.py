"""Where the checkout, its tests' helpers and a test's server are."""

from __future__ import annotations

from pathlib import Path

from rag_pg.testing import server_folder

__all__ = ["RECORDINGS", "ROOT", "SUPPORT", "server_folder"]

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
RECORDINGS = SUPPORT / "recordings"  # tables as other programs make them
