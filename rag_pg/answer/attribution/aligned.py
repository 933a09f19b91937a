"""A claim laid beside the sentence that it is a near copy of: what stands in the place of
something else, and excludes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from rag_pg.answer.reading.figures import is_number
from rag_pg.answer.reading.negation import is_negated
from rag_pg.answer.reading.opposites import find_opposite
from rag_pg.answer.reading.order import GERMAN, MOST_WORDS
from rag_pg.answer.reading.relations import read_phrases
from rag_pg.answer.reading.strange import is_common, is_frequent, is_known, says_how
from rag_pg.answer.reading.talk import is_of_speech
from rag_pg.text import common_start, is_among, is_function_word, same_word, words

_NEAR = 0.65  # of a claim's words that say something, which the sentence has in their order
_SAME = 4  # words that a copy shares with its sentence, with those that say nothing
_MOST = 2  # words of a thing in another's place
_NAME = 4  # words of a name
_RELATION = 4  # words of a relation
_BESIDE = 2  # words on each side of one, in which it is compared
_HEAD = 5  # letters at the end of two compounds of one head
_TOKEN = re.compile(r"\w+(?:['’.-]\w+)*")
_CAPITAL = re.compile(r"\s[A-ZÄÖÜÉ]\w")
_ARTICLES = frozenset(words("the a an der die das den dem le la les l un une el los las your su"))
_WHY = frozenset(words("because weil wegen parce que porque"))
_BEFORE = _WHY | frozenset(
    words(
        "of by for with from in on at an each every any only von vom bei für mit zur zum ein eine"
    )
    + words("einer einem jede jeder nur de des du par pour avec un une del por para con una cada")
    + words("solo di da dei della nel nella")
)
# A line: what excludes each other in one place of a sentence, by groups.
_EXCLUDE = """
before; prior; until; till; by; vor; bis; avant; jusqu; antes; hasta | after; following; since; from; nach; seit; ab; après; depuis; dès; después; desde; tras | in; during; within; at; on; im; am; während; en; pendant; dans; durante
because; due; owing; thanks; wegen; aufgrund; dank | despite; spite; although; trotz; obwohl; malgré; pesar | regardless
led to; leads to; results in; resulted in; resulting in; führte zu | resulted from; results from; resulting from; comes from; caused by
always; immer; stets; toujours; siempre | usually; often; frequently; generally; normally; mostly; meist; meistens; oft; häufig; souvent; généralement; normalmente | sometimes; occasionally; manchmal; gelegentlich; parfois; veces | rarely; seldom; hardly; selten; kaum; rarement; raramente | never; nie; niemals; jamais; nunca
about; around; approximately; roughly; nearly; almost; etwa; rund; ungefähr; fast; environ; presque; casi | more than; over; above; exceeding; mehr als; plus de; más de | less than; fewer than; under; below; weniger als; moins de; menos de | exactly; genau; exactement; exactamente
must; have to; has to; required; obliged; muss; müssen; doit; doivent; debe; deben | may; can; might; could; allowed; permitted; able; optional; kann; können; darf; dürfen; peut; peuvent; puede; pueden | should; recommended; advised; encouraged; sollte; sollten; empfohlen | certainly; definitely | did
will; shall; to be | was; were; has; have; had; been; did
partly; largely; mainly; mostly; primarily; chiefly; teilweise; hauptsächlich | entirely; exclusively; completely; wholly; fully; ganz; vollständig; ausschließlich
if; when; provided; wenn; falls; sofern | unless; until
tried; attempted; sought; wanted; wished; hoped; planned; intended; aimed; tries; wants; plans; versuchte; wollte | managed; succeeded; able; gelang | failed; refused; declined; fails; refuses | agreed; agrees
still; noch | no longer; nicht mehr
"""  # noqa: E501
_AMBIGUOUS = frozenset(
    words("in at on from by within im am ab en dans en")
)  # of time or of a place


_GROUPS: dict[tuple[str, ...], set[tuple[int, int]]] = {}
for _phrase, _line, _group in read_phrases(_EXCLUDE):
    _GROUPS.setdefault(_phrase, set()).add((_line, _group))
_RELATING = frozenset(word for phrase in _GROUPS for word in phrase)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    is_name: bool  # has a capital letter and does not begin the text

    @property
    def tells(self) -> bool:
        return not is_function_word(self.text)


Unlike = Callable[[str, str, str], bool | None]
_Change = tuple[int, int, int, int]  # mine[a:b] stands where there[c:d] does


@dataclass(frozen=True, slots=True)
class _Copy:
    mine: Sequence[_Word]
    there: Sequence[_Word]
    changes: Sequence[_Change]
    spoken: Sequence[str]  # words of the sentence before, whose thing this one may name otherwise
    new: str  # the first word of the sentence, where it goes back to nothing

    def around(self, change: _Change) -> Sequence[str]:
        """What stands there, and before where the sentence may mean it: behind an article or by a
        common word at its beginning, or at its end."""
        told = [w.text for w in self.there[change[2] : change[3]] if w.tells]
        both = bool(told) and is_among(told[0], self.spoken)  # it was spoken of as another
        back = (change[1] == len(self.mine) and not both) or (change[0] < 2 and not self.new)
        return [*(w.text for w in self.there), *(self.spoken if back else ())]

    def pair(self, change: _Change) -> tuple[str, str, str] | None:
        """One word in the place of another one, and what stands around them; None where it is more,
        or they say by themselves which of the two is meant."""
        a, b, c, d = change
        sides = self.mine[a:b], self.there[c:d]
        one, other = ([w for w in side if w.text not in _ARTICLES] for side in sides)
        if len(one) != 1 or len(other) != 1 or is_frequent(other[0].text):
            return None
        if any(w.is_name or is_number(w.text) or _is_no_thing(w.text) for w in (*one, *other)):
            return None
        around = [*self.mine[max(0, a - _BESIDE) : a], None, *self.mine[b : b + _BESIDE]]
        return one[0].text, other[0].text, " ".join(w.text if w else "{}" for w in around)


@lru_cache(256)
def _copy(claim: str, sentence: str, before: str) -> _Copy | None:
    """A claim as a copy of a sentence, with more or less left out; None: it is none."""
    mine, there = _read(claim), _read(sentence)
    if len(mine) * len(there) > MOST_WORDS**2:
        return None
    changes, same = _align(mine, there)
    why = next((a for a, b, _, _ in changes if mine[a - 1].text in _WHY and b == len(mine)), None)
    told = [word for word in mine[:why] if word.tells]
    named = sum(  # a name of several words is one
        one.is_name and other.is_name
        for a, b, _, _ in changes
        for one, other in pairwise(mine[a:b])
    )
    spoken = words(before)
    meant = sum(  # by a pronoun
        word.tells and is_among(word.text, spoken)
        for a, b, c, d in changes
        if not any(w.tells for w in there[c:d])
        for word in mine[a:b]
    )
    least = len(told) - named
    if same[0] + meant < _SAME or same[1] + meant < min(least * _NEAR, least - 1):
        return None
    first = next(iter(words(sentence)), "")
    is_new = not is_function_word(first) and not is_common(first)
    is_new = is_new or sentence[len(first) :][:1] == ":"  # Ben: I …
    return _Copy(mine, there, changes, spoken, first if is_new else "")


def is_altered(
    claim: str,
    sentence: str,
    before: str,
    known: Collection[str],
    question: str,
    unlike: Unlike | None,
) -> bool | None:
    """Whether a claim is a copy of a sentence, but for what excludes what stands in its place
    there: another relation, another name or thing that the sources speak of too; None: it is no
    copy.

    Args:
        unlike: whether two words in a place have nothing in common; None: that cannot be told.
    """
    copy = _copy(claim, sentence, before)
    if copy is None:
        return None
    mine, there = copy.mine, copy.there
    is_turned = is_negated(claim) != is_negated(sentence) or find_opposite(claim, sentence)
    is_german = not GERMAN.isdisjoint(word.text for word in there)
    asked = words(question)
    for change in copy.changes:
        if not is_turned and _excludes(mine, there, change):  # twice is the same again
            return True
        if _is_other_name(mine, there, change, known, is_german=is_german):
            return True
        around = [*asked, *copy.around(change)]
        is_else, pair = None, copy.pair(change) if unlike else None
        if unlike and pair and not is_known(pair[0], around):
            is_else = unlike(*pair)
        if is_else or (
            not (pair and is_else is False and not is_known(pair[0], known))
            and _is_other_thing(mine, there, change, around, known, is_only=len(copy.changes) == 1)
        ):
            return True
    return False


def _align(mine: Sequence[_Word], there: Sequence[_Word]) -> tuple[list[_Change], tuple[int, int]]:
    """The places where two texts differ, and how many words they share, all and those that say
    something."""
    own = dict.fromkeys(word.text for word in there)  # in their order
    forms = {
        w.text: next((o for o in own if _is_same(w.text, o)), "") for w in mine if w.text not in own
    }
    matcher = SequenceMatcher(
        None, [forms.get(w.text) or w.text for w in mine], [w.text for w in there], autojunk=False
    )
    same = [w for a, _, n in matcher.get_matching_blocks() for w in mine[a : a + n]]
    changes = [(a, b, c, d) for kind, a, b, c, d in matcher.get_opcodes() if kind == "replace"]
    return changes, (len(same), sum(word.tells for word in same))


def _is_same(one: str, other: str) -> bool:
    return one == other or (not (one + other).isdigit() and same_word(one, other))


def _excludes(mine: Sequence[_Word], there: Sequence[_Word], change: _Change) -> bool:
    """Since for until, always for often, must for may: before what both go on with."""
    a, b, c, d = change
    one, other = ([w.text for w in part] for part in (mine[a:b], there[c:d]))
    if not all(w in _RELATING or says_how(w) or is_function_word(w) for w in (*one, *other)):
        return False
    behind = next((w.text for w in mine[b:] if w.text not in _ARTICLES), "")
    first, second = (_groups(part, is_time=behind.isdigit()) for part in (one, other))
    lines = {line for line, _ in first} & {line for line, _ in second}
    return any(
        {g for line, g in first if line == at}.isdisjoint(g for line, g in second if line == at)
        for at in lines
    )


def _groups(part: Sequence[str], *, is_time: bool) -> set[tuple[int, int]]:
    return {
        group
        for size in (1, 2)
        for at in range(len(part) - size + 1)
        if is_time or part[at] not in _AMBIGUOUS
        for group in _GROUPS.get(tuple(part[at : at + size]), ())
    }


def _is_other_name(
    mine: Sequence[_Word],
    there: Sequence[_Word],
    change: _Change,
    known: Collection[str],
    *,
    is_german: bool,
) -> bool:
    """One name for another, whole ones and not its initials, that the sources know too. In German,
    where every noun has a capital letter, a name is what stands there behind another noun (seine
    Tochter Hedwig), or is no common word, without an article."""
    a, b, c, d = change
    parts = mine[a:b], there[c:d]
    one, other = ([w.text for w in part if w.text not in _ARTICLES] for part in parts)
    own = [w.text for w in there]
    if not (0 < len(one) <= _NAME and 0 < len(other) <= _NAME) or not all(
        is_known(word, known) and not is_known(word, own) for word in one
    ):
        return False
    if is_german:
        is_bare = len(one) == b - a and (a == 0 or mine[a - 1].text not in _ARTICLES)
        return (
            is_bare
            and all(w.is_name or a == n == 0 for n, w in enumerate(parts[0]))
            and not all(map(is_common, one))
            and any(w.is_name and w.tells and then.is_name for w, then in pairwise(parts[1]))
        )
    around = [*mine[a - 1 : a], *mine[b : b + 1], *there[c - 1 : c], *there[d : d + 1]]
    return (
        all(w.is_name or w.text in _ARTICLES for part in parts for w in part)
        and not any(w.is_name for w in around)
        and "".join(word[0] for word in one) not in other
        and "".join(word[0] for word in other) not in one
    )


def _is_other_thing(
    mine: Sequence[_Word],
    there: Sequence[_Word],
    change: _Change,
    around: Sequence[str],
    known: Collection[str],
    *,
    is_only: bool,
) -> bool:
    """One thing for another, behind a preposition or an article that says that it was not spoken of
    before, or at the beginning: one that the sources speak of too, or, where nothing else
    differs, a word that is no common one."""
    a, b, c, d = change
    is_last = b == len(mine)  # it goes on there
    one, other = [w.text for w in mine[a:b]], [w.text for w in there[c:d]]
    if a == c == 0 or is_last:  # The pilots, pilots
        one, other = ([w for w in part if w not in _ARTICLES] for part in (one, other))
    if a == c == 0 and one:  # however
        other = [w for w in other if not _is_filler(w)] or other
    most = _RELATION if is_last else _MOST
    if not 0 < len(one) <= most or not other or (len(other) > _MOST and not is_last):
        return False
    if all(map(_is_no_thing, one)) if is_last else any(map(_is_no_thing, (*one, *other))):
        return False
    if any(is_known(word, around) for word in one):
        return False
    if _have_one_head(one[-1], other[-1]):
        return True
    is_thing = not any(map(is_common, (*one, *other)))
    if not a:
        is_thing = is_thing or (b < len(mine) and mine[b].text not in _ARTICLES)
    elif a == 1 and mine[0].text in _ARTICLES:
        is_thing = all(is_known(word, known) for word in one)
    else:
        before = _BEFORE | _ARTICLES if is_last else _BEFORE
        is_thing = is_thing or mine[a - 1].text in before
    return is_thing and all(is_known(w, known) or (is_only and not is_common(w)) for w in one)


def _is_filler(word: str) -> bool:
    return is_function_word(word) or is_of_speech(word)


def _is_no_thing(word: str) -> bool:
    return word.isdigit() or _is_filler(word) or says_how(word)


def _have_one_head(one: str, other: str) -> bool:
    """Whether two words are compounds of one head: team leader and shift leader, in one word."""
    size = common_start(one[::-1], other[::-1])
    return size >= _HEAD and min(len(one), len(other)) - size > 1


def _read(text: str) -> list[_Word]:
    found: list[_Word] = []
    for match in _TOKEN.finditer(text):
        inside = text[: match.start()].strip("\"“„'*_ ([-|") or _CAPITAL.match(text, match.end())
        is_name = match[0][0].isupper() and bool(inside)
        found += [_Word(word, is_name) for word in words(match[0])]
    return found
