"""Recognise error pages, paywalls and prompt injections by stock phrases in the most frequent languages of the web.

Matching is fast on whole pages because a pattern is tried only if one of its hints occurs, and gaps are bounded.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_GAP = r"(?:\w{1,30}\W{1,4}){0,4}?"
_SEP = r"\W{1,4}"


class PhrasePattern(NamedTuple):
    """Pattern of a stock phrase."""

    hints: tuple[str, ...]
    """Lower-case strings, one of which occurs in every match; empty for a pattern that is always tried."""
    pattern: re.Pattern[str]
    """Compiled pattern."""


def contains_phrase(text: str, phrases: Sequence[PhrasePattern]) -> bool:
    """Return whether a text contains one of the phrases."""
    lower = text.lower()
    return any(
        (not phrase.hints or any(hint in lower for hint in phrase.hints)) and phrase.pattern.search(text)
        for phrase in phrases
    )


def _compile(hints: str, pattern: str) -> PhrasePattern:
    """Compile a phrase; in a pattern `~` matches up to four words and a space matches any separator."""
    compiled = re.compile(pattern.replace(" ", _SEP).replace("~", _GAP), re.IGNORECASE | re.MULTILINE)
    return PhrasePattern(tuple(hints.split("|")) if hints else (), compiled)


ERROR_PAGE_TITLES: Final = (
    _compile(
        "",
        r"\A\W*(?:error |http |status |fehler |erreur )*(?:40[0-9]|410|429|451|50[0-4])(?:\W*\Z|\s*[-|:–—·(!]|"
        r" (?:error|not|page|bad|forbidden|unauthorized|gone|too many|internal|service|gateway|seite|erreur|fehler)\b)",
    ),
    _compile(
        "", r"(?:\A|[-|:–—·.!] )(?:(?:page |file )?not found|no such page|forbidden|bad gateway)\W*(?:\Z|[-|–—·])"
    ),
    _compile("", r"\A\W*(?:access denied|service unavailable|internal server error|temporarily unavailable)\b"),
    _compile("", r"\A\W*(?:just a moment\W*\Z|attention required|security check|are you (?:a )?(?:robot|human))"),
    _compile(
        "", r"\b(?:page|site|article|content) (?:(?:was|is|could|can|cannot|be|not|no|longer|t) ){2,5}(?:found|avail)"
    ),
    _compile("", r"\bseite (?:(?:wurde|konnte|leider) )*nicht gefunden\b|\bseite existiert nicht\b"),
    _compile("", r"\bpage (?:introuvable|non trouvée|inexistante)\b|\bpagina non trovata\b"),
    _compile("", r"\bp[áa]gina n(?:o|ão) (?:encontrada|existe)\b|\bстраниц\w не найдена\b"),
    _compile("", r"页面不存在|頁面不存在|找不到页面|找不到頁面|ページが見つかりません|페이지를 찾을 수 없습니다"),
)
"""Titles of error pages and of bot checks."""

ERROR_PAGE_OPENINGS: Final = (
    _compile(
        "", r"\b(?:page|url|file|article) ~(?:(?:was|could|cannot|does) not (?:be )?(?:found|exist)|doesn.t exist)"
    ),
    _compile("", r"\b(?:page|article) ~(?:cannot be found|is no longer available|no longer exists)"),
    _compile("", r"\b(?:page|article) ~has been (?:removed|deleted|moved)|\brequested url ~not found\b"),
    _compile("", r"\b404 ~(?:not found|error|page)\b|\b(?:not found|error) 404\b"),
    _compile("", r"\b(?:enable|turn on|activate) (?:javascript|cookies)\b|\bjavascript is (?:disabled|required)\b"),
    _compile("", r"\bchecking (?:your browser|if the site connection)|\bunusual traffic from your\b|\bbeen blocked\b"),
    _compile(
        "", r"\bverify(?:ing)? (?:that )?you are (?:a )?human\b|\bthe captcha\b|\bthis domain (?:is|may be) for sale\b"
    ),
    _compile("", r"\bseite ~nicht gefunden\b|\bpage ~(?:est introuvable|n.existe (?:pas|plus))\b"),
    _compile("", r"\bp[áa]gina que (?:busca|buscas|procura)\b|\bpagina (?:richiesta|che cerchi|cercata) non\b"),
    _compile(
        "", r"запрошенная страница|такой страницы не существует|[您你]访问的页面|お探しのページは|요청하신 페이지"
    ),
)
"""First sentences of error pages."""

PAYWALL_NOTICES: Final = (
    _compile("subscribe", r"\bsubscribe (?:now )?(?:to|and) (?:continue|read|keep|unlock|get (?:full|unlimited))\b"),
    _compile("reading", r"\bto (?:continue|keep) reading\b|\bkeep reading with\b"),
    _compile("subscriber|member", r"\balready a (?:subscriber|member)\b|\bfor (?:paid |paying )?subscribers only\b"),
    _compile("sign|log", r"\b(?:sign|log) (?:in|up) to (?:read|continue reading|view the full)\b"),
    _compile(
        "subscribers|members",
        r"\b(?:article|content|story|post) is ~(?:for|to) (?:(?:paid|our) )?(?:subscrib|memb)ers\b",
    ),
    _compile("you", r"\byou(?:.ve| have) (?:reached|read) (?:all )?your ~(?:limit|free|monthly|last)\b"),
    _compile(
        "abo", r"\bmit ~abo(?:nnement)? ~(?:weiterlesen|lesen|freischalten)\b|\bjetzt abonnieren\b|\bfür abonnenten\b"
    ),
    _compile("weiterlesen", r"\bjetzt weiterlesen\b"),
    _compile("abonn", r"\bréservée? (?:aux|à nos) abonnés\b|\babonnez.vous pour\b"),
    _compile("la suite", r"\bpour lire la suite\b"),
    _compile("suscr", r"\b(?:solo|exclusiv[oa]) para suscriptores\b|\bsuscr[íi]bete para\b"),
    _compile("assin", r"\b(?:exclusivo|conteúdo) para assinantes\b|\bassine para\b"),
    _compile("leggere|abbonati", r"\bper continuare a leggere\b|\briservato agli abbonati\b|\babbonati per\b"),
    _compile("подпис", r"только для подписчиков|оформите подписку"),
    _compile("订阅|登录|付费|会員|有料|구독", r"订阅后|登录后阅读|付费阅读|会員限定|この記事は有料|구독자 전용"),
)
"""Notices at the end of the free part of an article."""

PROMPT_INJECTIONS: Final = (
    _compile(
        "ignore|disregard|forget|override|bypass",
        r"\b(?:ignore|disregard|forget|override|bypass) ~(?:previous|prior|earlier|preceding|above|all|your"
        r"|system|other)"
        r" ~(?:instructions?|prompts?|directions?|guidelines|rules|commands?)\b",
    ),
    _compile(
        "ignore|disregard|forget",
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all) ~(?:above|before|previously|so far)\b",
    ),
    _compile(
        "instruction|prompt",
        r"\b(?:new|updated|real|actual|important|hidden|secret) (?:system )?(?:instructions?|prompt) (?:for|to) "
        r"~(?:ai|llms?|language models?|assistants?|chatbots?|agents?|summari[sz]ers?)\b",
    ),
    _compile(
        "ai|llm|language model|chatbot",
        r"\b(?:attention|note|notice|message|instructions?) (?:to|for) (?:(?:all|any|the) )*"
        r"(?:ai|llms?|language models?|chatbots?)(?: assistants?| agents?| models?)?\s*[:—–]",
    ),
    _compile(
        "if you|when you",
        r"\b(?:if|when) you(?: are|.re) (?:an? )?(?:ai|llm|(?:large )?language model|chatbot)\b[^.\n]{0,60}"
        r"\b(?:you (?:must|should|have to|need to)|please|do not|recommend|reply with)\b",
    ),
    _compile(
        "as an ai|as a large|as a language",
        r"\bas an? (?:ai|(?:large )?language model)(?: assistant| model| agent)?, (?:you (?:must|should"
        r"|have)|please|always)\b",
    ),
    _compile(
        "you are",
        r"\byou are (?:now|no longer) (?:an? (?:ai|assistant|unrestricted|different)|bound|in \w{1,12} mode)\b",
    ),
    _compile(
        "system prompt|instructions|api key",
        r"\b(?:reveal|print|repeat|output|show|leak|send) ~(?:system prompt|(?:initial|hidden|your)"
        r" instructions|api keys?)\b",
    ),
    _compile(
        "do not",
        r"\bdo not (?:tell|inform|alert) ~(?:user|reader|human)\b|\bdo not (?:mention|reveal) (?:this|it) to"
        r" ~(?:user|human)\b",
    ),
    _compile("<|", r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>"),
    _compile("inst]|<sys>", r"\[/?INST\]|<</?SYS>>"),
    _compile("system", r"^\W{0,4}system\s*:\s*you (?:are|must)\b|\bbegin system prompt\b"),
    _compile("##", r"#{2,}\s*(?:system )?(?:instruction|prompt)s?\s*:"),
    _compile(
        "ignorier|missachte|vergiss|vergessen",
        r"\b(?:ignorier\w*|missachte\w*|vergiss|vergessen sie) ~(?:vorherig\w*|bisherig\w*|obig\w*|alle\w*) "
        r"~(?:anweisung\w*|instruktion\w*|befehl\w*|prompts?)\b",
    ),
    _compile(
        "ignore|oublie",
        r"\b(?:ignore[rz]?|oublie[rz]?) ~(?:instructions?|consignes?|directives?) (?:précédent\w*"
        r"|antérieur\w*|ci.dessus)",
    ),
    _compile(
        "ignor|olvid|desconsidere|esqueça|dimentica",
        r"\b(?:ignor[ae]n?|ignorate|olvid[ae]n?|desconsidere|esqueça|dimentica) "
        r"~(?:instru[cç]\w+|istruzioni|indicaciones|órdenes|ordens|comandi) (?:anterior\w*|previ\w+"
        r"|precedent\w+|acima)\b",
    ),
    _compile("игнорируй|забудь", r"(?:игнорируй|забудь)\w* ~(?:инструкци|указани|команд)\w*"),
    _compile(
        "忽略|无视|無視|忘记|忘記",
        r"(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,8}(?:之前|以前|以上|先前|前面|上述|所有)"
        r"[^。\n]{0,8}(?:指令|指示|说明|說明|提示|命令)",
    ),
    _compile(
        "無視|忘れ",
        r"(?:これまで|以前|上記|前)の[^。\n]{0,6}(?:指示|命令|プロンプト)[^。\n]{0,4}(?:無視|忘れ)",
    ),
    _compile("무시|잊", r"(?:이전|위의|모든)[^.\n]{0,8}(?:지시|명령|프롬프트)[^.\n]{0,6}(?:무시|잊)"),
)
"""Instructions to language models that read the page."""
