"""A provider that is often out of sorts: a fake Gemini with faults drawn by chance,
and poison that always fails."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable

from chaos.corpus import POISONS
from fake_gemini import FakeGemini, Fault, Request, failure

# Of requests; the rest is answered.
SHARES = {"429": 0.02, "500": 0.04, "time-out": 0.01, "wrong dimensions": 0.01, "NaN": 0.01}
CLIENT_TIMEOUT = 2.0  # seconds, of the workers' embedder


class MoodyGemini(FakeGemini):
    """Counts what happened to requests in `outcomes`,
    and the texts whose vectors it gave in `given`.

    `calm` set: no more faults, but poison stays poison.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.calm = threading.Event()
        self.outcomes: Counter[str] = Counter()
        self.given: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._counting = threading.Lock()

    def respond(self, request: Request, is_gone: Callable[[], bool]) -> Fault:
        asked = request.body.get("requests") or [request.body]
        texts = ["".join(p["text"] for p in item["content"]["parts"]) for item in asked]
        with self._counting:
            fault = self._fault(texts)
            self.outcomes[fault] += 1
        if fault == "429":
            return failure(429, "RESOURCE_EXHAUSTED", headers={"retry-after": "1"})
        if fault in ("500", "poison: 500"):
            return failure(500, "INTERNAL")
        if fault == "poison: 400":
            return failure(400, "INVALID_ARGUMENT")
        if fault == "time-out":
            self._closing.wait(CLIENT_TIMEOUT + 1)
        routed = self.route(request)
        assert not isinstance(routed, Fault)
        status, body = routed
        if fault == "wrong dimensions":
            body = {"embeddings": [{"values": e["values"][:-1]} for e in body["embeddings"]]}
        elif fault in ("NaN", "poison: NaN"):
            body["embeddings"][-1]["values"][0] = float("nan")
        elif fault == "answered":
            with self._counting:
                self.given.update(texts)
        return Fault(status=status, body=json.dumps(body).encode())

    def _fault(self, texts: list[str]) -> str:
        for poison, outcome in zip(POISONS, ("400", "500", "NaN"), strict=True):
            if any(poison in text for text in texts):
                return f"poison: {outcome}"
        if self.calm.is_set():
            return "answered"
        point = self._chance.random()
        for fault, share in SHARES.items():
            if point < share:
                return fault
            point -= share
        return "answered"
