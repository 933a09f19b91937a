"""Gemini's embedders and language models, by either of its SDKs."""
