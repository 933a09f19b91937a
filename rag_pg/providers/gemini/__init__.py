"""Gemini's embedders and language models, by either of its SDKs."""

from rag_pg.providers.connection import Provider

GEMINI = Provider(
    name="gemini",
    url="https://generativelanguage.googleapis.com",
    url_setting="RAG_PG_GEMINI_BASE_URL",
    key_settings=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
)
