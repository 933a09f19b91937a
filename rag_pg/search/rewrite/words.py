"""Words by which rules read a question: English, and some of other larger European languages."""

# They stand for something named before. Those that mostly mean something else (German "sie", French
# "en", Spanish "la") are left out.
_PRONOUNS = """
it its it's itself they them their theirs they're these those one ones such both he she him her
his
else instead otherwise others latter former
ihn ihm ihnen dessen deren damit dafür davon daran darin dazu dabei dadurch darüber diese dieser
dieses
diesem diesen dort stattdessen
celui celle ceux celles cela ça ceci celui-ci leur leurs lui
ello eso esto ellos ellas ése éste aquello
questo quello essi loro isso isto aquilo eles elas
он она оно они его её ее их него неё них этот эта это эти этого этой этих там туда
"""
PRONOUNS = frozenset(_PRONOUNS.split())

_POSSESSIVES = "its their his her leur leurs"
POSSESSIVES = frozenset(_POSSESSIVES.split())

# A question that is whole has one of them among its first words.
_OPENERS = """
how what which where when why who whom whose is are was were am do does did can could should would
will
may might must shall has have had please i i'm we my our let
wie was welche welcher welches wo wann warum wieso weshalb wer wen wem wessen ist sind war kann
können darf
soll muss hat haben gibt
comment que quoi quel quelle quels quelles où quand pourquoi qui est sont peut combien
cómo qué cuál cuáles dónde cuándo quién es son puede puedo hay cuánto
come che cosa quale quali dove perché chi sono
как что какой какая какие где когда почему кто сколько можно
como quando onde quem quais posso pode quanto hoe wat welke waar wanneer waarom wie kan kunnen
jak co jaki jaka jakie gdzie kiedy dlaczego kto czy ile hur vad vilken var när varför vem hvordan
hvad hva hvilken hvor hvornår hvorfor hvem nasıl ne nerede neden kim hangi mi mı
"""
OPENERS = frozenset(_OPENERS.split())

# A request begins with one of them.
_IMPERATIVES = """
tell explain show list describe give compare find summarize summarise name define suppose
nenne zeige erkläre liste beschreibe explique donne montre explica muestra dime spiega mostra
"""
IMPERATIVES = frozenset(_IMPERATIVES.split())

# They name no topic.
_FILLER = "use using want need know get find go please also just there thing things"
FILLER = frozenset(_FILLER.split())

# They stand for the documents of a collection.
_DOCUMENTS = """
document documents file files page pages article articles record records entry entries
dokument dokumente datei dateien seite seiten eintrag eintrage fichier fichiers documento documentos
archivo archivos
"""
DOCUMENTS = frozenset(_DOCUMENTS.split())

# A question about metadata may hold them without asking for more.
_EXPLAINED = """
all total number count list show give name exist exists stored held collection database contain
contains available currently latest newest recent most oldest earliest last first dated signed
updated changed added created uploaded from during year years different distinct
"""
EXPLAINED = frozenset(_EXPLAINED.split())

# A question with one of them is about what may or should be, which no count tells.
_MODALS = "may might can could should would must need needs shall"
MODALS = frozenset(_MODALS.split())

# They restrict or divide what is counted: each has to stand in a condition.
_RESTRICTING = """
not no non nor neither never without except excluding other than but only before after since until
till between over under above below less fewer more per each every by outside how
nicht kein keine ohne außer nur vor nach seit bis pro je jede jedes
pas sans sauf ni avant après depuis par chaque sin salvo antes después desde hasta cada
"""
RESTRICTING = frozenset(_RESTRICTING.split())
