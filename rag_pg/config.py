"""Settings: defaults < RAG_PG_* environment variables < arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

import platformdirs

from rag_pg.errors import InvalidInput

PREFIX = "RAG_PG_"
SCHEMA = "rag"  # of the database, unless an installation has a name of its own
# Read elsewhere: addresses of providers, and what tests and benchmarks run on.
ADDRESSES = tuple(f"RAG_PG_{name}_BASE_URL" for name in ("GEMINI", "OPENAI", "ANTHROPIC"))
OTHERS = (*ADDRESSES, "RAG_PG_EVAL_DATA", "RAG_PG_CITUS_DSN")


def schema_name() -> str:
    """The name of the schema that the environment gives."""
    return os.environ.get(f"{PREFIX}SCHEMA") or SCHEMA


def default_home() -> Path:
    """The user's data folder; root's own is closed to the user that PostgreSQL runs
    as under root."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/rag_pg")
    return platformdirs.user_data_path("rag_pg", appauthor=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a process is told from outside. Each field is also RAG_PG_<FIELD> in the environment.

    dsn: a libpq connection string; None: the embedded server under `home`.
    home: where the embedded server's data, converted models and the demo lie; default: the user's
        data folder, under root /var/lib/rag_pg.
    max_file_bytes: larger files are refused.
    minilm_path: a folder with the default model's weights; None: the installed package, else the
        Hugging Face hub.
    e5_path: the data file of model e5, or its folder; None: the installed package.
    llm: what answers questions: extractive, gemini[:<model>], openai:<model>, anthropic:<model>
        or local.
    helper_llm: the language model for rewrites, checks and extraction; None: llm does these too.
    cache: what is kept in the database: off, all, or some of embeddings, completions, searches and
    answers, with commas between.
    schema: the name of the schema in the database; another than rag for one of several
    installations in a database.
    locations: what a worker may sync collections with (rag.attach_location): how the addresses
        begin, in the environment with commas between.
    private_hosts: what a sync may fetch although it is no public address, as wiki.internal or
        wiki.internal:8090; in the environment with commas between.
    pool_size: connections a `Rag` holds open at most, and calls an `AsyncRag` runs at once;
    a worker has more.
    """

    dsn: str | None = None
    home: Path = field(default_factory=default_home)
    max_file_bytes: int = 20_000_000
    minilm_path: Path | None = None
    e5_path: Path | None = None
    llm: str = "extractive"
    helper_llm: str | None = None
    cache: str = "embeddings"
    schema: str = SCHEMA
    locations: tuple[str, ...] = ("http://", "https://")
    private_hosts: tuple[str, ...] = ()
    pool_size: int = 4

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read RAG_PG_* variables. Raises InvalidInput for an unknown or malformed one."""
        environment = os.environ if environment is None else environment
        names = {PREFIX + f.name.upper(): f.name for f in fields(cls)}
        values: dict[str, object] = {}
        for variable, text in environment.items():
            if not variable.startswith(PREFIX) or variable.startswith((*OTHERS, "RAG_PG_TEST_")):
                continue
            if variable not in names:
                known = ", ".join(sorted((*names, *ADDRESSES)))
                raise InvalidInput(f"unknown setting {variable}; known: {known}")
            if text:
                values[names[variable]] = _parse(variable, names[variable], text)
        return cls(**values)  # type: ignore[arg-type]


def _parse(variable: str, name: str, text: str) -> object:
    if name in ("home", "minilm_path", "e5_path"):
        return Path(text).expanduser()
    if name in ("locations", "private_hosts"):
        return tuple(one.strip() for one in text.split(",") if one.strip())
    if name == "pool_size":
        if not text.isdecimal() or not 1 <= int(text) <= 1000:
            raise InvalidInput(f"{variable} is {text!r}; set a number of connections, 1 to 1000")
        return int(text)
    if name == "max_file_bytes":
        if not text.isdecimal() or int(text) < 1:
            raise InvalidInput(f"{variable} is {text!r}; set a number of bytes, e.g. 20000000")
        return int(text)
    return text
