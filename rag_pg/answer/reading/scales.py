"""What things have more or less of, with the words for it: price (cheaper), weight (heaviest)."""

from __future__ import annotations

from dataclasses import dataclass

_SCALES = (  # see `Scale`
    ("price cost fee preis kosten prix precio", "euro", "dear|teue?r", "cheap|billig|günstig",
     "expensive|cher|chère|car[oa]s?", "barat[oa]s?"),
    ("weight mass gewicht masse poids peso", "gram", "heavi|schwer", "light|leicht",
     "lourde?s?|pesad[oa]s?", "lég[eè]re?s?|liger[oa]s?"),
    ("age alter âge edad", "", "old|ält", "young|jüng", "", ""),
    ("depth tiefe profondeur", "metre", "deep|tief", "shallow|flach", "", ""),
    ("width breite largeur", "metre", "wid|broad|breit", "narrow|schmal", "", ""),
    ("height elevation altitude höhe hauteur altura", "metre", "tall", "", "tall", ""),
    ("noise sound loudness lärm geräusch schall bruit ruido", "db", "loud|laut", "quiet|leis",
     "bruyante?s?|ruidos[oa]s?", "silencieu(?:x|ses?)|silencios[oa]s?"),
    ("temperature temperatur température temperatura", "", "hott|warm|wärm", "cold|cool|kält|kühl",
     "chaude?s?|calientes?", "froide?s?|frí[oa]s?"),
    ("", "day", "slow|langsam", "fast|quick|schnell", "lente?s?|lent[oa]s?",
     "rapides?|rápid[oa]s?"),
)  # fmt: skip
_OTHER_SCALES = (
    ("height elevation altitude höhe hauteur altura", "metre", "high|höch|höh", "low|niedrig",
     "", ""),
    ("length duration länge dauer longueur durée", "day metre", "long|läng", "short|kürz",
     "longue?s?|longtemps|larg[oa]s?", "courte?s?|cort[oa]s?"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """What things have more or less of. columns: names of its columns; units: of its dimensions;
    more, less: stems of what has more and less of it (heavi), and such words as have no endings for
    that (more expensive)."""

    columns: str
    units: str
    more: str
    less: str
    more_words: str
    less_words: str

    def comparatives(self) -> tuple[str, str]:
        """Patterns of what has more of it than another, and of what has less."""
        return self._degrees("er", "more|plus|más", "less|moins|menos")

    def superlatives(self) -> tuple[str, str]:
        """Patterns of what has the most of it, and of what has the least."""
        return self._degrees(r"e?st(?:e\w*)?", "most", "least")

    def _degrees(self, ending: str, more: str, less: str) -> tuple[str, str]:
        one, other = (
            [rf"(?:{stems}){ending}"] * bool(stems)
            + [rf"(?:{more}) (?:{longer})"] * bool(longer)
            + [rf"(?:{less}) (?:{opposite})"] * bool(opposite)
            for stems, longer, opposite in (
                (self.more, self.more_words, self.less_words),
                (self.less, self.less_words, self.more_words),
            )
        )
        return "|".join(one), "|".join(other)


# The superlatives of the first mean their columns whatever else a question names (the cheapest plan
# for ten users), those of the others where it names no column of numbers.
OF_COLUMNS, OF_OTHERS = ([Scale(*one) for one in scales] for scales in (_SCALES, _OTHER_SCALES))
SCALES = [*OF_COLUMNS, *OF_OTHERS]
