"""The stock phrases by which a page of the web gives itself away, in the larger languages of the web.

A whole page is searched in time because a pattern is tried only where one of its hints stands, and gaps between words
are bounded.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_GAP = r"(?:\w{1,30}\W{1,4}){0,4}?"
_SEP = r"\W{1,4}"


class Phrase(NamedTuple):
    """A way to say something."""

    hints: tuple[str, ...]
    """Words in small letters, one of which stands in whatever the pattern finds; none for a pattern always tried."""
    pattern: re.Pattern[str]
    """What it looks like."""


def says(text: str, phrases: Sequence[Phrase]) -> bool:
    """Tell whether a text says one of the phrases."""
    small = text.lower()
    return any(
        (not phrase.hints or any(hint in small for hint in phrase.hints)) and phrase.pattern.search(text)
        for phrase in phrases
    )


def _phrase(hints: str, pattern: str) -> Phrase:
    """Return a phrase; in patterns `~` stands for up to four words, a space for what stands between words."""
    found = re.compile(pattern.replace(" ", _SEP).replace("~", _GAP), re.IGNORECASE | re.MULTILINE)
    return Phrase(tuple(hints.split("|")) if hints else (), found)


ERROR_TITLE: Final = (
    _phrase(
        "",
        r"\A\W*(?:error |http |status |fehler |erreur )*(?:40[0-9]|410|429|451|50[0-4])(?:\W*\Z|\s*[-|:–—·(!]|"
        r" (?:error|not|page|bad|forbidden|unauthorized|gone|too many|internal|service|gateway|seite|erreur|fehler)\b)",
    ),
    _phrase("", r"(?:\A|[-|:–—·.!] )(?:(?:page |file )?not found|no such page|forbidden|bad gateway)\W*(?:\Z|[-|–—·])"),
    _phrase("", r"\A\W*(?:access denied|service unavailable|internal server error|temporarily unavailable)\b"),
    _phrase("", r"\A\W*(?:just a moment\W*\Z|attention required|security check|are you (?:a )?(?:robot|human))"),
    _phrase(
        "", r"\b(?:page|site|article|content) (?:(?:was|is|could|can|cannot|be|not|no|longer|t) ){2,5}(?:found|avail)"
    ),
    _phrase("", r"\bseite (?:(?:wurde|konnte|leider) )*nicht gefunden\b|\bseite existiert nicht\b"),
    _phrase("", r"\bpage (?:introuvable|non trouvée|inexistante)\b|\bpagina non trovata\b"),
    _phrase("", r"\bp[áa]gina n(?:o|ão) (?:encontrada|existe)\b|\bстраниц\w не найдена\b"),
    _phrase("", r"页面不存在|頁面不存在|找不到页面|找不到頁面|ページが見つかりません|페이지를 찾을 수 없습니다"),
)
"""Titles of error pages, and of the gates in front of pages."""

ERROR_HEAD: Final = (
    _phrase(
        "", r"\b(?:page|url|file|article) ~(?:(?:was|could|cannot|does) not (?:be )?(?:found|exist)|doesn.t exist)"
    ),
    _phrase("", r"\b(?:page|article) ~(?:cannot be found|is no longer available|no longer exists)"),
    _phrase("", r"\b(?:page|article) ~has been (?:removed|deleted|moved)|\brequested url ~not found\b"),
    _phrase("", r"\b404 ~(?:not found|error|page)\b|\b(?:not found|error) 404\b"),
    _phrase("", r"\b(?:enable|turn on|activate) (?:javascript|cookies)\b|\bjavascript is (?:disabled|required)\b"),
    _phrase("", r"\bchecking (?:your browser|if the site connection)|\bunusual traffic from your\b|\bbeen blocked\b"),
    _phrase(
        "", r"\bverify(?:ing)? (?:that )?you are (?:a )?human\b|\bthe captcha\b|\bthis domain (?:is|may be) for sale\b"
    ),
    _phrase("", r"\bseite ~nicht gefunden\b|\bpage ~(?:est introuvable|n.existe (?:pas|plus))\b"),
    _phrase("", r"\bp[áa]gina que (?:busca|buscas|procura)\b|\bpagina (?:richiesta|che cerchi|cercata) non\b"),
    _phrase("", r"запрошенная страница|такой страницы не существует|[您你]访问的页面|お探しのページは|요청하신 페이지"),
)
"""How the text of an error page begins."""

PAYWALL: Final = (
    _phrase("subscribe", r"\bsubscribe (?:now )?(?:to|and) (?:continue|read|keep|unlock|get (?:full|unlimited))\b"),
    _phrase("reading", r"\bto (?:continue|keep) reading\b|\bkeep reading with\b"),
    _phrase("subscriber|member", r"\balready a (?:subscriber|member)\b|\bfor (?:paid |paying )?subscribers only\b"),
    _phrase("sign|log", r"\b(?:sign|log) (?:in|up) to (?:read|continue reading|view the full)\b"),
    _phrase(
        "subscribers|members",
        r"\b(?:article|content|story|post) is ~(?:for|to) (?:(?:paid|our) )?(?:subscrib|memb)ers\b",
    ),
    _phrase("you", r"\byou(?:.ve| have) (?:reached|read) (?:all )?your ~(?:limit|free|monthly|last)\b"),
    _phrase(
        "abo", r"\bmit ~abo(?:nnement)? ~(?:weiterlesen|lesen|freischalten)\b|\bjetzt abonnieren\b|\bfür abonnenten\b"
    ),
    _phrase("weiterlesen", r"\bjetzt weiterlesen\b"),
    _phrase("abonn", r"\bréservée? (?:aux|à nos) abonnés\b|\babonnez.vous pour\b"),
    _phrase("la suite", r"\bpour lire la suite\b"),
    _phrase("suscr", r"\b(?:solo|exclusiv[oa]) para suscriptores\b|\bsuscr[íi]bete para\b"),
    _phrase("assin", r"\b(?:exclusivo|conteúdo) para assinantes\b|\bassine para\b"),
    _phrase("leggere|abbonati", r"\bper continuare a leggere\b|\briservato agli abbonati\b|\babbonati per\b"),
    _phrase("подпис", r"только для подписчиков|оформите подписку"),
    _phrase("订阅|登录|付费|会員|有料|구독", r"订阅后|登录后阅读|付费阅读|会員限定|この記事は有料|구독자 전용"),
)
"""What stands where a page stops for those who have not paid."""

ORDERS: Final = (
    _phrase(
        "ignore|disregard|forget|override|bypass",
        r"\b(?:ignore|disregard|forget|override|bypass) ~(?:previous|prior|earlier|preceding|above|all|your"
        r"|system|other)"
        r" ~(?:instructions?|prompts?|directions?|guidelines|rules|commands?)\b",
    ),
    _phrase(
        "ignore|disregard|forget",
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all) ~(?:above|before|previously|so far)\b",
    ),
    _phrase(
        "instruction|prompt",
        r"\b(?:new|updated|real|actual|important|hidden|secret) (?:system )?(?:instructions?|prompt) (?:for|to) "
        r"~(?:ai|llms?|language models?|assistants?|chatbots?|agents?|summari[sz]ers?)\b",
    ),
    _phrase(
        "ai|llm|language model|chatbot",
        r"\b(?:attention|note|notice|message|instructions?) (?:to|for) (?:(?:all|any|the) )*"
        r"(?:ai|llms?|language models?|chatbots?)(?: assistants?| agents?| models?)?\s*[:—–]",
    ),
    _phrase(
        "if you|when you",
        r"\b(?:if|when) you(?: are|.re) (?:an? )?(?:ai|llm|(?:large )?language model|chatbot)\b[^.\n]{0,60}"
        r"\b(?:you (?:must|should|have to|need to)|please|do not|recommend|reply with)\b",
    ),
    _phrase(
        "as an ai|as a large|as a language",
        r"\bas an? (?:ai|(?:large )?language model)(?: assistant| model| agent)?, (?:you (?:must|should"
        r"|have)|please|always)\b",
    ),
    _phrase(
        "you are",
        r"\byou are (?:now|no longer) (?:an? (?:ai|assistant|unrestricted|different)|bound|in \w{1,12} mode)\b",
    ),
    _phrase(
        "system prompt|instructions|api key",
        r"\b(?:reveal|print|repeat|output|show|leak|send) ~(?:system prompt|(?:initial|hidden|your)"
        r" instructions|api keys?)\b",
    ),
    _phrase(
        "do not",
        r"\bdo not (?:tell|inform|alert) ~(?:user|reader|human)\b|\bdo not (?:mention|reveal) (?:this|it) to"
        r" ~(?:user|human)\b",
    ),
    _phrase("<|", r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>"),
    _phrase("inst]|<sys>", r"\[/?INST\]|<</?SYS>>"),
    _phrase("system", r"^\W{0,4}system\s*:\s*you (?:are|must)\b|\bbegin system prompt\b"),
    _phrase("##", r"#{2,}\s*(?:system )?(?:instruction|prompt)s?\s*:"),
    _phrase(
        "ignorier|missachte|vergiss|vergessen",
        r"\b(?:ignorier\w*|missachte\w*|vergiss|vergessen sie) ~(?:vorherig\w*|bisherig\w*|obig\w*|alle\w*) "
        r"~(?:anweisung\w*|instruktion\w*|befehl\w*|prompts?)\b",
    ),
    _phrase(
        "ignore|oublie",
        r"\b(?:ignore[rz]?|oublie[rz]?) ~(?:instructions?|consignes?|directives?) (?:précédent\w*"
        r"|antérieur\w*|ci.dessus)",
    ),
    _phrase(
        "ignor|olvid|desconsidere|esqueça|dimentica",
        r"\b(?:ignor[ae]n?|ignorate|olvid[ae]n?|desconsidere|esqueça|dimentica) "
        r"~(?:instru[cç]\w+|istruzioni|indicaciones|órdenes|ordens|comandi) (?:anterior\w*|previ\w+"
        r"|precedent\w+|acima)\b",
    ),
    _phrase("игнорируй|забудь", r"(?:игнорируй|забудь)\w* ~(?:инструкци|указани|команд)\w*"),
    _phrase(
        "忽略|无视|無視|忘记|忘記",
        r"(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,8}(?:之前|以前|以上|先前|前面|上述|所有)"
        r"[^。\n]{0,8}(?:指令|指示|说明|說明|提示|命令)",
    ),
    _phrase(
        "無視|忘れ",
        r"(?:これまで|以前|上記|前)の[^。\n]{0,6}(?:指示|命令|プロンプト)[^。\n]{0,4}(?:無視|忘れ)",
    ),
    _phrase("무시|잊", r"(?:이전|위의|모든)[^.\n]{0,8}(?:지시|명령|프롬프트)[^.\n]{0,6}(?:무시|잊)"),
)
"""Orders to the programs that read a page."""
