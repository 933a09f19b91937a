"""Replies that come in drops end in their time."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from rag_pg.providers.interrupt import SlowReply, _Stream, ending_in

pytestmark = pytest.mark.libraries


class Drops:
    """A network stream that always has another drop."""

    def __init__(self, drop: bytes) -> None:
        self.drop = drop

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        assert timeout is not None and timeout > 0
        return self.drop


@pytest.mark.parametrize(
    "drop, seconds, whole",
    [
        (b"x", 0.01, None),  # a streamed line that never ends
        (b"x", 3600, 0.01),
        (b"a line\n", 3600, 0.01),
    ],
)
def test_a_reply_in_drops_is_a_time_out(drop: bytes, seconds: float, whole: float | None) -> None:
    stream = _Stream(Drops(drop))
    with (
        nullcontext() if whole is None else ending_in(whole),
        pytest.raises(SlowReply),
    ):
        while True:
            assert stream.read(1, seconds) == drop


def test_a_time_out_begins_anew_with_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("rag_pg.providers.interrupt.time.monotonic", lambda: now[0])

    class Asked(Drops):
        def write(self, buffer: bytes, timeout: float | None = None) -> None:
            pass

    stream = _Stream(Asked(b"x"))
    for _ in range(3):
        now[0] += 50
        stream.write(b"a request")
        now[0] += 9
        assert stream.read(1, 10) == b"x"
    now[0] += 2
    with pytest.raises(SlowReply):
        stream.read(1, 10)
