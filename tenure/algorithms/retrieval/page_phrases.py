"""Recognise error pages and paywalls by stock phrases in the most frequent languages of the web."""

from typing import Final

from tenure.algorithms.text.stock_phrases import compile_phrase

ERROR_PAGE_TITLES: Final = tuple(
    compile_phrase("", pattern)
    for pattern in (
        r"\A\W*(?:error |http |status |fehler |erreur )*(?:40[0-9]|410|429|451|50[0-4])(?:\W*\Z|\s*[-|:–—·(!]|"
        r" (?:error|not|page|bad|forbidden|unauthorized|gone|too many|internal|service|gateway|seite|erreur|fehler)\b)",
        r"(?:\A|[-|:–—·.!] )(?:(?:page |file )?not found|no such page|forbidden|bad gateway)\W*(?:\Z|[-|–—·])",
        r"\A\W*(?:access denied|service unavailable|internal server error|temporarily unavailable)\b",
        r"\A\W*(?:just a moment\W*\Z|attention required|security check|are you (?:a )?(?:robot|human))",
        r"\b(?:page|site|article|content) (?:(?:was|is|could|can|cannot|be|not|no|longer|t) ){2,5}(?:found|avail)",
        r"\bseite (?:(?:wurde|konnte|leider) )*nicht gefunden\b|\bseite existiert nicht\b",
        r"\bpage (?:introuvable|non trouvée|inexistante)\b|\bpagina non trovata\b",
        r"\bp[áa]gina n(?:o|ão) (?:encontrada|existe)\b|\bстраниц\w не найдена\b",
        r"页面不存在|頁面不存在|找不到页面|找不到頁面|ページが見つかりません|페이지를 찾을 수 없습니다",
    )
)
"""Titles of error pages and of bot checks."""

ERROR_PAGE_OPENINGS: Final = tuple(
    compile_phrase("", pattern)
    for pattern in (
        r"\b(?:page|url|file|article) ~(?:(?:was|could|cannot|does) not (?:be )?(?:found|exist)|doesn.t exist)",
        r"\b(?:page|article) ~(?:cannot be found|is no longer available|no longer exists)",
        r"\b(?:page|article) ~has been (?:removed|deleted|moved)|\brequested url ~not found\b",
        r"\b404 ~(?:not found|error|page)\b|\b(?:not found|error) 404\b",
        r"\b(?:enable|turn on|activate) (?:javascript|cookies)\b|\bjavascript is (?:disabled|required)\b",
        r"\bchecking (?:your browser|if the site connection)|\bunusual traffic from your\b|\bbeen blocked\b",
        r"\bverify(?:ing)? (?:that )?you are (?:a )?human\b|\bthe captcha\b|\bthis domain (?:is|may be) for sale\b",
        r"\bseite ~nicht gefunden\b|\bpage ~(?:est introuvable|n.existe (?:pas|plus))\b",
        r"\bp[áa]gina que (?:busca|buscas|procura)\b|\bpagina (?:richiesta|che cerchi|cercata) non\b",
        r"запрошенная страница|такой страницы не существует|[您你]访问的页面|お探しのページは|요청하신 페이지",
    )
)
"""First sentences of error pages."""

PAYWALL_NOTICES: Final = (
    compile_phrase(
        "subscribe", r"\bsubscribe (?:now )?(?:to|and) (?:continue|read|keep|unlock|get (?:full|unlimited))\b"
    ),
    compile_phrase("reading", r"\bto (?:continue|keep) reading\b|\bkeep reading with\b"),
    compile_phrase(
        "subscriber|member", r"\balready a (?:subscriber|member)\b|\bfor (?:paid |paying )?subscribers only\b"
    ),
    compile_phrase("sign|log", r"\b(?:sign|log) (?:in|up) to (?:read|continue reading|view the full)\b"),
    compile_phrase(
        "subscribers|members",
        r"\b(?:article|content|story|post) is ~(?:for|to) (?:(?:paid|our) )?(?:subscrib|memb)ers\b",
    ),
    compile_phrase("you", r"\byou(?:.ve| have) (?:reached|read) (?:all )?your ~(?:limit|free|monthly|last)\b"),
    compile_phrase(
        "abo", r"\bmit ~abo(?:nnement)? ~(?:weiterlesen|lesen|freischalten)\b|\bjetzt abonnieren\b|\bfür abonnenten\b"
    ),
    compile_phrase("weiterlesen", r"\bjetzt weiterlesen\b"),
    compile_phrase("abonn", r"\bréservée? (?:aux|à nos) abonnés\b|\babonnez.vous pour\b"),
    compile_phrase("la suite", r"\bpour lire la suite\b"),
    compile_phrase("suscr", r"\b(?:solo|exclusiv[oa]) para suscriptores\b|\bsuscr[íi]bete para\b"),
    compile_phrase("assin", r"\b(?:exclusivo|conteúdo) para assinantes\b|\bassine para\b"),
    compile_phrase("leggere|abbonati", r"\bper continuare a leggere\b|\briservato agli abbonati\b|\babbonati per\b"),
    compile_phrase("подпис", r"только для подписчиков|оформите подписку"),
    compile_phrase("订阅|登录|付费|会員|有料|구독", r"订阅后|登录后阅读|付费阅读|会員限定|この記事は有料|구독자 전용"),
)
"""Notices at the end of the free part of an article."""
