"""Prometheus' text format, read by its own library."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[str, list[tuple[dict[str, str], float]]]


def read(text: str) -> Samples:
    """Return the labels and values of each name; every family is described, once."""
    found: Samples = {}
    families = [*text_string_to_metric_families(text)]
    names = [family.name for family in families]
    assert len(names) == len(set(names)), names
    for family in families:
        assert family.documentation and family.type != "unknown", family
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found
