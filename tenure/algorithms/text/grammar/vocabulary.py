"""Words that mark the grammar of English questions: auxiliaries, verbs, prepositions.

The lists are closed and short on purpose: a word that is missing leaves a question whole, it never splits it wrongly.
"""

import re
from typing import Final

WH_WORDS: Final = "how|what|why|when|where|which|who|whose|whom"
"""Alternatives of a pattern: question words."""
AUXILIARIES: Final = (
    "is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|shall|may|might|must|isn['’]t|aren['’]t"
    "|wasn['’]t|weren['’]t|don['’]t|doesn['’]t|didn['’]t|can['’]t|won['’]t"
)
"""Alternatives of a pattern: auxiliary verbs."""
AUXILIARY_WORDS: Final = frozenset(AUXILIARIES.replace("['’]", "'").split("|"))
PREPOSITIONS: Final = frozenset(
    """about above across after against along among around as at before behind below between beyond by despite
    during for from in inside into like near of off on onto out outside over per since than through throughout
    to toward towards under until up via with within without""".split()
)
_VERBS = frozenset(
    """absorb accept achieve act add adopt affect age agree aim allow apply approve argue arise arrive ask
    assign attack attend attract audit avoid backup bake ban beat become begin behave believe belong benefit
    bind bleach block boil borrow break breathe breed bring broadcast build burn buy cache calculate call
    carry cause change charge check choose cite claim clean close cluster collapse collect combine come
    communicate compare compete compile compose compute conduct connect consist constrain consume contain
    contribute control convert cook cool copy cost count cover crash create cross cure cut damage deal debug
    decay decide declare decline defeat define delay deliver depend deploy describe design destroy detect
    determine develop die differ digest direct discover distribute divide donate double draw drive drop earn
    eat elect eliminate emerge emit enable encode encourage end enforce enter erupt escape establish evaluate
    evolve exist expand expect explain explode export expose express extend extract fail fall feed feel fight
    fill filter find finish fish fit fix float flow fly follow force form freeze function fund gain generate
    get give go govern grow guarantee handle happen harm hatch hedge help hibernate hide hire hit hold host
    hunt impact implement import improve include increase index infect influence inherit inspect inspire
    install integrate interact introduce invade invent invest involve join jump keep kill know lack land last
    launch lay lead learn lease leave lend let limit link list live load locate log look lose lower maintain
    make manage marry match matter mean measure melt merge migrate mix monitor mount move need occur offer
    open operate orbit order organise organize originate own paint parse pay perform persist place plan play
    pollute predict prefer prepare prevent price proceed process produce promote protect prove provide publish
    pull pump purr push query quote rank react read receive record recover recruit recycle reduce refer
    reflect refuse regulate reject relate release rely remain remember remove render rent repair repeat
    replace replicate reproduce require resign resist resolve respond restore result retry return reveal
    review rise rotate rule run sail save say schedule score see sell send separate serve set settle shape
    share shift ship show shrink sign sink sleep smell solve sort sound speak specify spend split sponsor
    spread stand start state stay steal stop store stream succeed suffer suggest supply support surrender
    survive switch take target taste tax teach tell tend test thank think trade transform translate transmit
    travel treat trigger try tune turn unite update upgrade use validate vary verify vote wake walk want warm
    waste watch weaken wear weigh win withdraw work write""".split()
)
IRREGULAR_FORMS: Final = frozenset(
    """ate beaten became become been began begun bitten bled blown born bought bred broke broken brought built
    burnt came caught chose chosen come cost cut dealt done drawn drew driven drove eaten fallen fed fell felt
    fled flew flown forgotten fought found froze frozen gave given gone got gotten grew grown heard held
    hidden hit kept knew known laid led left lent lost made meant met paid put ran read ridden risen rose run
    said sang sank sat saw seen sent set shaken shot shown shut sold sought spent split spoken spread stole
    stolen stood struck sung sunk swum taken taught thought thrown told took torn understood undone went
    withdrawn woken won wore worn wound written wrote""".split()
)
"""Past forms and participles of irregular verbs."""
ADJECTIVES: Final = frozenset(
    """able active afraid alive available aware bad bald best better biased big bigger black blind blue brown
    careful cheap cheaper clean clear close cold common compatible complete complex cool correct critical
    dangerous dark dead deep different difficult dirty dry easier easy effective efficient empty equal
    expensive extinct famous fast faster fatal few flat free fresh full good great green grey hard harder
    hardest harmful healthy heavy high higher hollow hot illegal important impossible infectious large larger
    late legal less likely long low lower mandatory more necessary new nocturnal obsolete old older open
    optional orange pink poisonous poor popular possible powerful profitable purple quick quiet rare red
    reliable rich safe salty secure sensitive sharp short similar simple slow slower small smaller smart soft
    sour special stable strong stronger successful sufficient suitable sweet tall toxic true unique unpopular
    unsafe useful useless valuable vulnerable warm weak wet white wide worse worth wrong yellow young younger""".split()
)
"""Adjectives that questions complete ("What is hard about rye?")."""
_PARTICIPLE = re.compile(r"^\w{2,}ed$")  # "delayed", not "red".


def is_base_verb(word: str) -> bool:
    """Return whether a word is the base form of a known verb."""
    return word.lower() in _VERBS


def is_finite_verb(word: str) -> bool:
    """Return whether a word is an inflected form of a verb ("handles", "built", "approved")."""
    lower = word.lower()
    if lower in IRREGULAR_FORMS or _PARTICIPLE.match(lower):
        return True
    return lower.endswith("s") and (lower[:-1] in _VERBS or (lower.endswith("es") and lower[:-2] in _VERBS))


def is_participle(word: str) -> bool:
    """Return whether a word is a past participle ("delayed", "built")."""
    lower = word.lower()
    return lower in IRREGULAR_FORMS or bool(_PARTICIPLE.match(lower))
