"""Whether a sentence has the opposite of a word that a question has: rapid for slow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rag_pg.text import is_function_word, words

# Pairs: each word of one side is the opposite of each of the other.
_PAIRS = """
increase rise grow raise expand gain | decrease fall drop decline reduce shrink diminish loss;
more greater | less fewer; most | least fewest; maximum | minimum; maximal | minimal;
first begin beginning start initial | last end ending final finish; before prior | after following;
early earlier earliest | late later latest; north northern | south southern;
east eastern | west western; large larger big bigger biggest great | small little smaller tiny;
high higher | low lower; long longer | short shorter; fast quick rapid | slow;
old older ancient | new newer newest young modern; strong strengthen | weak weaken;
good better best | bad worse worst; rich wealthy | poor; hot warm | cold cool; wet | dry;
difficult hard | easy simple; heavy heavier | light lighter; full | empty; open | close shut;
inside internal inner interior | outside external outer exterior; above upper | below under lower;
left | right; male man men | female woman women; public | private;
succeed success successful win won victory | fail failure lose lost defeat;
accept approve adopt allow permit agree | reject refuse deny forbid prohibit ban disagree;
support promote encourage stimulate strengthen | oppose inhibit suppress hinder discourage weaken;
supporter proponent advocate | opponent detractor critic; include | exclude leftout;
create build establish | destroy abolish demolish dissolve; buy purchase | sell sold;
import | export; enter arrive arrival | leave depart departure exit; friend ally | enemy;
always often usually frequently mostly | never rarely seldom hardly;
common frequent usual | rare uncommon unusual; positive | negative; true | false;
limited finite | unlimited infinite; constant fixed stable | variable changing fluctuating;
active | passive; natural | artificial; urban | rural; majority | minority; attack | defend;
cause | prevent; safe | dangerous; war | peace; born birth | died death;
same identical similar | different; alive living | dead; deep | shallow; wide broad | narrow;
thick | thin; day | night; summer | winter; expensive | cheap; temporary | permanent;
domestic | foreign; forward | backward; add | remove subtract; connect attach | disconnect detach;
single | multiple; complex | simple; partial | complete; guilty | innocent;
presence present | absence absent; loud louder noisy | quiet quieter silent;
written | oral verbal spoken; outdoor outdoors | indoor indoors; hard harder | soft softer;
dangerous harmful | harmless; calm | windy stormy; hidden | visible; healthy | weakened sick ill;
advance | retreat; immer oft häufig meist | nie selten; souvent toujours | jamais rarement;
siempre | raramente; enable enabled | disable disabled; switchon | switchoff; encrypt | decrypt;
compress | decompress; lose lost | find found; raise | lower; attach mount insert | remove detach;
start | stop; bought | sell sold; clockwise | counterclockwise anticlockwise; steep | flat;
front | rear back; rise rose risen grow grew grown | fall fell fallen shrink shrank shrunk;
mehr größer höher | weniger kleiner niedriger tiefer; erlaubt gestattet | verboten untersagt;
öffnen öffnet geöffnet offen | schließen schließt geschlossen; warm wärmer heiß | kalt kälter;
lauter | leiser; länger | kürzer; schwer schwerer | leicht leichter; drinnen | draußen;
oben | unten; vorne | hinten; voll | leer; tag tagsüber | nacht nachts; sommer | winter;
meisten | wenigsten; erste | letzte; groß | klein; hoch | niedrig; lang | kurz; schnell | langsam;
alt älter | neu neuer jung; früh früher | spät später; stark | schwach;
gut besser | schlecht schlechter; nördlich norden | südlich süden; östlich osten | westlich westen;
steigen erhöhen zunehmen | sinken senken abnehmen verringern;
gewinnen gewann sieg | verlieren verlor niederlage; öffentlich | privat;
innen innerhalb | außen außerhalb; vorher | nachher; ouvre ouvrir ouvert | fermer fermé;
chaude | froide; jour | nuit; été | hiver; intérieur | extérieur; pleine | vide;
long longue | courte; autorisé autorisée permis | interdite; acheter | vendre;
plus davantage | moins; première | dernière; grand | petit; haut | bas;
ancien vieux | nouveau nouvelle jeune moderne; avant | après; fort | faible; meilleur | pire;
nord | sud; augmenter hausse | diminuer baisse; gagner victoire | perdre défaite; public | privé;
abre abrir abierto | cierra cerrar cerrado; día | noche; verano | invierno; lleno | vacío;
caliente | frío; permitido | prohibido; más mayor | menos menor; primera | última; grande | pequeño;
alto | bajo; largo | corto; rápido | lento; antiguo viejo | nuevo joven moderno; antes | después;
fuerte | débil; mejor | peor; norte | sur; aumentar aumento | disminuir disminución;
ganar victoria | perder derrota; público | privado;
optional voluntary recommended | mandatory compulsory obligatory required; exempt | liable;
employer | employee;
lender creditor | borrower debtor; landlord lessor | tenant lessee; buyer purchaser | seller vendor;
sender | recipient receiver addressee; plaintiff claimant | defendant; debit | credit;
upload | download; inbound incoming | outbound outgoing; horizontal | vertical; gross | net;
ascending | descending; manual manually | automatic automatically; online | offline;
input | output; income | expense; odd | even;
arbeitgeber | arbeitnehmer; vermieter | mieter; verkäufer | käufer; absender | empfänger;
freiwillig empfohlen | verpflichtend vorgeschrieben; fest | variabel variabl;
brutto | netto; spätestens | frühestens; eingang | ausgang;
employeur | salarié; vendeur | acheteur; facultatif | obligatoire; vendedor | comprador;
opcional | obligatorio; tôt | tard; temprano | tarde;
surplus | deficit shortfall; profit | loss; asset | liability; revenue | expenditure;
ahead | behind; alone | together accompanied; allein | zusammen gemeinsam;
confirm | deny; hire | fire dismiss; lend lent | borrow; praise | criticise blame;
optimistic | pessimistic; senior | junior; predecessor | successor; ancestor | descendant;
husband | wife; brother | sister; father | mother; son | daughter; clean | dirty; solid | liquid;
smooth | rough; raw | cooked; tight | loose; straight | curved; bright | dark; sweet | sour bitter;
wholesale | retail; supply | demand; improve | worsen deteriorate; minor | major; predator | prey;
upstream | downstream; upstairs | downstairs; acidic | alkaline; attract | repel; absorb | emit;
trust believe | doubt; sunrise dawn | sunset dusk; freeze | melt thaw; push | pull;
schriftlich | mündlich; angenommen annehmen zugestimmt | abgelehnt ablehnen; einnahmen | ausgaben;
gewinn | verlust; überschuss | defizit fehlbetrag; ankunft | abfahrt; anfang beginn | ende schluss;
kostenlos gratis | kostenpflichtig; gestiegen stieg | gesunken sank; teuer | billig günstig;
hell | dunkel; nass feucht | trocken; sauber | schmutzig; süß | sauer; roh | gekocht;
vorteil | nachteil; mehrheit | minderheit; links | rechts; anmelden | abmelden; tod | geburt;
einschalten | ausschalten; bruder | schwester; vater | mutter; sohn | tochter; positiv | negativ;
gratuit gratuite | payant payante; ouverture | fermeture; arrivée arriver | départ partir;
accepter accepté adopté | refuser refusé rejeter rejeté; bénéfice | perte; excédent | déficit;
écrit écrite | oral orale; sec sèche | humide; cuit cuite | cru crue; droite | gauche;
avant devant | arrière derrière; seul | ensemble accompagné;
avantage | inconvénient; frère | sœur; père | mère; fils | fille; début | fin; achat | vente
"""
# Turn it off: one word of a particle and its verb.
_PARTICLE = re.compile(
    r"\b(?:switch|turn|power)(?:s|es|ed|ing)?\s+(?:\w+\s+){0,2}?(on|off)\b", re.IGNORECASE
)
_LEFT_OUT = re.compile(r"\b(?:leaves?|left|leaving)\s+(?:\w+\s+){0,2}?out\b", re.IGNORECASE)
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "anti")
_SEPARATE = ("non", "anti")  # before a hyphen too
_SHORTEST = 4  # letters of what follows a prefix
_ENDING = re.compile(r"(?:e|s|es|ed|d|ing|ly|er|est|en|em|n|a|o|as|os|ne)?")


def _read_pairs() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for pair in _PAIRS.split(";"):
        one, other = (words(side) for side in pair.split("|"))
        for here, there in ((one, other), (other, one)):
            for word in here:
                found.setdefault(_stem(word), set()).update(_stem(far) for far in there)
    return found


def _stem(word: str) -> str:
    return word[:-1] if len(word) > _SHORTEST and word[-1] in "aeo" else word


_OPPOSITES = _read_pairs()


def find_opposite(question: str, sentence: str) -> tuple[str, str] | None:
    """Return a word of the question that the sentence lacks, and its opposite there, which the
    question lacks; None: there is none.

    Opposites are common pairs in English, with some in German, French and Spanish, and words that
    differ by a prefix of negation (equal, unequal).
    """
    asked, told = _forms(question), _forms(sentence)
    for word in asked:
        if word in told or is_function_word(word) or _is_in(_listed(word), told):
            continue
        for other in told:
            if other not in asked and _is_negated(word, other):
                return word, other
        far = {opposite for stem in _listed(word) for opposite in _OPPOSITES[stem]}
        for other in told:
            if far & _listed(other) and not _is_in(_listed(other), asked):
                return word, other
    return None


@lru_cache(256)
def _forms(text: str) -> Sequence[str]:
    """The different words; one after a separate prefix of negation is joined to it."""
    found: list[str] = []
    text = _LEFT_OUT.sub(r"\g<0> leftout", _PARTICLE.sub(r"\g<0> switch\1", text))
    for word in words(text):
        if found and found[-1] in _SEPARATE:
            word = found.pop() + word
        found.append(word)
    return list(dict.fromkeys(found))


@lru_cache(4096)
def _listed(word: str) -> frozenset[str]:
    """The listed stems that a word is a form of."""
    return frozenset(
        word[:stop]
        for stop in range(max(len(word) - 3, 2), len(word) + 1)
        if word[:stop] in _OPPOSITES and _ENDING.fullmatch(word[stop:])
    )


def _is_in(stems: frozenset[str], texts: Sequence[str]) -> bool:
    return bool(stems) and any(stems & _listed(word) for word in texts)


def _is_negated(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST and any(long == prefix + short for prefix in _PREFIXES)
