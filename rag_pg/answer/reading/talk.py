"""Whether a sentence of an answer says something of the documents, or only speaks of the answer."""

from __future__ import annotations

import re
from collections.abc import Collection

from rag_pg.answer.reading.negation import is_negated
from rag_pg.answer.reading.statements import Statement
from rag_pg.text import content_words, has_word, is_function_word, word_set, words

MOST_OF_A_LABEL = 4  # words that the sources do not have
_QUESTION = ("?", "？", "؟")

# What is asked and answered, and with what.
_SOURCES = """
docs excerpt context material article handbook guide file snippet reference content detail quelle
dokument dokumentation unterlage abschnitt auszug kontext text angabe handbuch seite datei hinweis
source document documentation passage extrait contexte texte information section page manuel fichier
précision renseignement mention fuente documentación pasaje extracto contexto texto información
sección manual archivo dato mención fonte documento documentazione passaggio estratto contesto testo
informazione sezione pagina документ источник текст отрывок раздел информация сведения
"""
_SAYING = """
say state mention specify contain cover explain address include provide give tell indicate discuss
answer list note show define clarify find found see identify locate determine confirm know sagen
nennen erwähnen enthalten beschreiben erklären angeben geben hergeben beantworten finden gefunden
erwähnt genannt angegeben entnehmen steht geht hervor dit disent mentionner mentionne mentionnent
indiquer indique indiquent préciser précise précisent contenir contient contiennent décrire décrit
fournir fournit fournissent trouver trouvé répondre répond decir dicen mencionar menciona mencionan
indicar indican especificar especifica contener contienen describir describe proporcionar
proporciona encontrar encontrado responder responde dire dice dicono menzionare menziona indicare
indica contenere contiene trovare trovato говорить говорится указать указано содержит содержат
сказано найти найдено упоминается
"""
_MENTIONING = """
mention mentioned mentions mentioning specify specified specifies erwähnen erwähnt erwähnte
mentionner mentionne mentionnent mencionar menciona mencionan mencionado menzionare menziona
"""
_SPEECH = """
here follow following below above according based given available relevant short brief summary
summarize summarise sum overview overall conclude ask help hope let need want like further more free
feel happy glad assist assistance please thank thanks sure course otherwise specific specifically
anything something else unclear great good excellent
topic step example key main way thing regarding related check look additional directly explicitly
exactly clear clearly yes hier folgend folgende folgenden unten oben laut gemäß kurz zusammenfassung
zusammengefasst überblick antwort frage fragen helfen hilfe hoffe wissen brauchen benötigen weitere
weiteren mehr gern gerne bitte danke natürlich punkt schritt schritte beispiel wichtig ja nein
melden voici suivant suivante suivants suivantes dessous dessus selon bref résumé réponse question
aide aider espère savoir besoin davantage plus merci sûr point étape étapes liste exemple important
oui non hésitez aquí siguiente siguientes abajo arriba según breve resumen conclusión respuesta
pregunta ayuda ayudar espero saber necesita necesitas más gracias claro punto paso pasos lista
ejemplo importante no
"""
_PARTICLES = """
whether while because since although though however therefore thus hence whereas once until unless
upon along across among within without through against toward towards per via each every all both
either neither other others another same such own just also too very quite rather even still already
yet again ever perhaps maybe possibly probably apparently usually typically generally ob während
weil obwohl jedoch daher deshalb somit sobald bis außer entlang innerhalb ohne gegen pro jeder jede
jedes alle beide andere anderen gleiche solche eigene sehr ziemlich sogar noch schon wieder
vielleicht möglicherweise wahrscheinlich offenbar meist meistens allgemein si tandis parce depuis
bien cependant donc ainsi dès jusque sauf parmi contre chaque tous toutes autre autres même tel
propre très assez encore déjà aussi peut-être probablement généralement mientras porque desde aunque
embargo tanto así hasta salvo entre contra cada todo todos todas otro otros mismo tal propio muy
bastante aún ya también quizás probablemente generalmente
"""
_PERSONS = """
i me my i'm i'd i'll i've we us our ich mir mich wir uns je moi nous yo nosotros io noi я мы мне
"""
_VERBS = """
is are was were be has have had can will must does do ist sind war hat haben kann wird est sont
était ont peut es son está fue han puede è sono
"""
_NOTHING = re.compile(r"\b(?:nothing|nichts|rien|nada|niente|ничего)\b", re.IGNORECASE)
_FIRST_PERSON, AUXILIARIES = frozenset(_PERSONS.split()), frozenset(_VERBS.split())
ENDINGS = ("s", "es", "ed", "d", "ing", "n", "en", "e", "t")
_TOKEN = re.compile(r"\w+(?:['’]\w+)?")
_BREAK = re.compile(
    r"[;—–]\s*|(?:,|(?<!\s))\s+(?=(?:but|however|though|although|while|whereas|aber|jedoch|sondern|obwohl|mais"
    r"|cependant|pero|aunque|sino)\b)|(?<=,)\s+(?=(?:only|nur)\b)",
    re.IGNORECASE,
)


class Talk:
    """Tells what states something of the documents from what does not.

    Questions, what only speaks of sources and answers ("Here is what the sources say:", "Let me
    know …"), labels, and that the sources do not say something are no statements.

    Args:
        known: words of the question and of the sources.
    """

    def __init__(self, known: Collection[str]) -> None:
        self._known = frozenset(known)
        self._text = " ".join(self._known)

    def claim(self, statement: Statement) -> str | None:
        """Return what is to be judged of a statement; None where it states nothing."""
        text = statement.claim.strip().strip("*_").strip()
        if not statement.numbers and text.rstrip("\"'”’»)").endswith(_QUESTION):
            return None
        left = [part for part in _BREAK.split(text) if not _is_refusal(part)]
        stated = text if len(left) == len(_BREAK.split(text)) else " ".join(left)
        if not stated.strip() or self._is_talk(stated, statement):
            return None
        return stated

    def _is_talk(self, text: str, statement: Statement) -> bool:
        content = content_words(text)
        stated = [w for w in content if not (is_function_word(w) or is_of_speech(w))]
        if not stated:
            return len(words(text)) > 1  # "Yes." is an answer
        strange = [word for word in stated if not has_word(self._text, word)]
        if statement.is_label:
            is_sentence = not AUXILIARIES.isdisjoint(text.casefold().split())
            return len(strange) <= (0 if is_sentence else MOST_OF_A_LABEL)
        spoken = {token.casefold() for token in _TOKEN.findall(text)} - self._known
        speaks = not statement.numbers and not spoken.isdisjoint(_FIRST_PERSON)
        if statement.leads_in:
            return len(strange) <= 1
        return speaks and not strange and not is_negated(text)


_SOURCE_WORDS, _SAYING_WORDS, _MENTIONING_WORDS = map(word_set, (_SOURCES, _SAYING, _MENTIONING))
_OF_SPEECH = _SOURCE_WORDS | _SAYING_WORDS | word_set(_SPEECH) | word_set(_PARTICLES)


def is_of_speech(word: str) -> bool:
    """Whether a word is of speaking about sources and answers."""
    return _is_one_of(word, _OF_SPEECH)


def _is_one_of(word: str, known: Collection[str]) -> bool:
    return word in known or any(
        word[:-size] in known and word[-size:] in ENDINGS for size in (1, 2, 3)
    )


def _is_refusal(text: str) -> bool:
    """Whether a clause says that the sources do not say something."""
    found = words(text)
    of_sources = any(_is_one_of(word, _SOURCE_WORDS) for word in found)
    speaks = any(token.casefold() in _FIRST_PERSON for token in _TOKEN.findall(text))
    says = any(_is_one_of(word, _SAYING_WORDS) for word in found)
    mentions = not _MENTIONING_WORDS.isdisjoint(found)
    return (is_negated(text) or bool(_NOTHING.search(text))) and (
        mentions or (says and (of_sources or speaks))
    )
