"""Patterns of text that gives instructions to a language model (prompt injection).

Three groups: orders to forget or to override, orders on what a model does with a document, and forged structure, such
as role delimiters, tool calls and closing marks. They are hints: a document may discuss such phrases, and an order may
be worded in another way.
"""

from typing import Final

from tenure.algorithms.text.stock_phrases import compile_phrase

_READER = (
    r"(?:ai|a\.i|llms?|(?:large )?language models?|chat ?bots?|gpt(?:-?\d\w*)?|claude|gemini|copilot|summari[sz]ers?"
    r"|(?:ai|research|reading|automated|autonomous|virtual|digital|intelligent|coding|helpful|your) (?:assistants?|agents?"
    r"|readers?|systems?|tools?|bots?)|assistants?|agents?|machine readers?|models?)"
)
"""Names that such orders give their reader."""
_STRONG_READER = (
    r"(?:ai|llms?|(?:large )?language models?|chat ?bots?|gpt(?:-?\d\w*)?|claude|gemini|ai (?:assistants?|agents?|systems?"
    r"|readers?|models?)|research (?:assistants?|agents?)|(?:virtual|digital) assistants?)"
)
"""Names that only a machine has."""
_DUTY = (
    r"(?:must|should|shall|have to|has to|need to|needs to|(?:are|is) (?:required|instructed|ordered|obliged|expected"
    r"|authori[sz]ed|told|asked|hereby \w+) to|will (?:now|always|only|ignore|include|say|state|call|send))"
)
_RESULT = r"(?:answers?|reports?|summar(?:y|ies)|responses?|outputs?|repl(?:y|ies)|abstracts?|sections?|reviews?|conclusions?)"
_EVIDENCE = r"(?:sources?|documents?|passages?|pages?|citations?|evidence|findings|references|search results)"
_START = r"(?:^|[.!?:;>\"*\]\n)]\s*|\W(?:please|now|then|and|then please|you must|you should|you will|always|to) )"
"""Begin of an imperative."""
_ORDER_START = _START.replace("|always|to)", "|always)")
"""The same without the infinitive: a manual explains how "to use the command"."""

OVERRIDES: Final = (
    compile_phrase(
        "ignore|disregard|forget|override|bypass",
        # "Running forget, prune and other maintenance commands" is a manual's: commands are no other ones here.
        r"\b(?:ignore|disregard|forget|override|bypass) ~(?:"
        r"(?:previous|prior|earlier|preceding|above|all|your|system)"
        r" ~(?:instructions?|prompts?|directions?|guidelines|rules|commands?)"
        r"|other ~(?:instructions?|prompts?|directions?|guidelines|rules))\b",
    ),
    compile_phrase(
        "ignore|disregard|forget",
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all) ~(?:above|before|previously|so far)\b",
    ),
    compile_phrase(
        "instruction|prompt",
        r"\b(?:new|updated|real|actual|important|hidden|secret) (?:system )?(?:instructions?|prompt) (?:for|to) "
        r"~(?:ai|llms?|language models?|assistants?|chatbots?|agents?|summari[sz]ers?)\b",
    ),
    compile_phrase(
        "ai|llm|language model|chatbot",
        r"\b(?:attention|note|notice|message|instructions?) (?:to|for) (?:(?:all|any|the) )*"
        r"(?:ai|llms?|language models?|chatbots?)(?: assistants?| agents?| models?)?\s*[:—–]",
    ),
    compile_phrase(
        "if you|when you",
        r"\b(?:if|when) you(?: are|.re) (?:an? )?(?:ai|llm|(?:large )?language model|chatbot)\b[^.\n]{0,60}"
        r"\b(?:you (?:must|should|have to|need to)|please|do not|recommend|reply with)\b",
    ),
    compile_phrase(
        "as an ai|as a large|as a language",
        r"\bas an? (?:ai|(?:large )?language model)(?: assistant| model| agent)?, (?:you (?:must|should"
        r"|have)|please|always)\b",
    ),
    compile_phrase(
        "you are",
        r"\byou are (?:now|no longer) (?:an? (?:ai|assistant|unrestricted|different)|bound|in \w{1,12} mode)\b",
    ),
    compile_phrase(
        "system prompt|instructions|api key",
        r"\b(?:reveal|print|repeat|output|show|leak|send) ~(?:system prompt|(?:initial|hidden|your)"
        r" instructions|api keys?)\b",
    ),
    compile_phrase(
        "do not",
        r"\bdo not (?:tell|inform|alert) ~(?:user|reader|human)\b|\bdo not (?:mention|reveal) (?:this|it) to"
        r" ~(?:user|human)\b",
    ),
    compile_phrase("<|", r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>"),
    compile_phrase("inst]|<sys>", r"\[/?INST\]|<</?SYS>>"),
    compile_phrase("system", r"^\W{0,4}system\s*:\s*you (?:are|must)\b|\bbegin system prompt\b"),
    compile_phrase("##", r"(?<!#)#{2,}+\s*+(?:system )?(?:instruction|prompt)s?\s*:"),
    compile_phrase(
        "ignorier|missachte|vergiss|vergessen",
        r"\b(?:ignorier\w*|missachte\w*|vergiss|vergessen sie) ~(?:vorherig\w*|bisherig\w*|obig\w*|alle\w*) "
        r"~(?:anweisung\w*|instruktion\w*|befehl\w*|prompts?)\b",
    ),
    compile_phrase(
        "ignore|oublie",
        r"\b(?:ignore[rz]?|oublie[rz]?) ~(?:instructions?|consignes?|directives?) (?:précédent\w*"
        r"|antérieur\w*|ci.dessus)",
    ),
    compile_phrase(
        "ignor|olvid|desconsidere|esqueça|dimentica",
        r"\b(?:ignor[ae]n?|ignorate|olvid[ae]n?|desconsidere|esqueça|dimentica) "
        r"~(?:instru[cç]\w+|istruzioni|indicaciones|órdenes|ordens|comandi) (?:anterior\w*|previ\w+"
        r"|precedent\w+|acima)\b",
    ),
    compile_phrase("игнорируй|забудь", r"(?:игнорируй|забудь)\w* ~(?:инструкци|указани|команд)\w*"),
    compile_phrase(
        "忽略|无视|無視|忘记|忘記",
        r"(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,8}(?:之前|以前|以上|先前|前面|上述|所有)"
        r"[^。\n]{0,8}(?:指令|指示|说明|說明|提示|命令)",
    ),
    compile_phrase(
        "無視|忘れ",
        r"(?:これまで|以前|上記|前)の[^。\n]{0,6}(?:指示|命令|プロンプト)[^。\n]{0,4}(?:無視|忘れ)",
    ),
    compile_phrase("무시|잊", r"(?:이전|위의|모든)[^.\n]{0,8}(?:지시|명령|프롬프트)[^.\n]{0,6}(?:무시|잊)"),
    compile_phrase(
        "overrid|supersede|replace|precedence|priority|cancel|revoke",
        r"\b(?:overrid(?:es?|ing)|supersedes?|replaces?|takes? (?:precedence|priority) over|cancels?|revokes?)"
        r" (?!existing rules\b)(?:(?:all|any|the|your|every|of|these|other) )*(?:(?:previous|prior|other|earlier|system|above|existing|original"
        r"|given|initial|developer|safety) )+(?:\w{1,20} )?(?:instructions?|prompts?|rules|guidelines|directives|orders|messages?)\b",
    ),
    compile_phrase(
        "instruct|rules|prompt|guideline|direct|told",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|drop|discard|abandon|set aside|pay no attention to|do not (?:follow|obey|heed)"
        r"|never mind|stop following|cease following|no longer follow)"
        r" (?:(?:everything|anything|all|any|the|your|whatever|of|that|you|were|have|been|was|is|in|other|these|those|every) )*"
        r"(?:(?:previous|prior|earlier|preceding|above|former|original|initial|existing|current|system|developer|safety|given|old) )*"
        r"(?:instructions?|prompts?|directions?|guidelines|rules|commands?|directives|told (?:before|earlier|so far|until now|previously))\b"
        r"(?: ~(?:you|above|before|given|earlier|so far|until|follow))",
    ),
    compile_phrase(
        "from now on|from here on|henceforth|from this point",
        r"\b(?:from now on|from here on|henceforth|from this point on(?:ward)?)\W{1,4}(?:you|always|every|all your|answer|respond|your"
        r"|treat|call|write|begin|each of your)\b",
    ),
    compile_phrase(
        "task|objective|goal|mission|role|orders|directive|instruction|assignment|priority|job",
        r"\b(?:your (?:next|current|sole)|(?:your|the) (?:new|real|true|only|actual|updated|revised)) (?:\w{1,15} )?(?:task|objective|goal"
        r"|mission|job|role|instructions?|orders?|priority|directives?|assignment)s? (?:is|are|now|has|have)\b",
    ),
    compile_phrase(
        "task|objective|goal|mission|role|orders|directive|instruction|assignment",
        r"^\W{0,6}(?:new|updated|revised|real|actual|current|urgent|important|hidden|secret|additional|special) (?:system )?(?:task|objective|goal"
        r"|mission|role|orders?|instructions?|directives?|assignment)s?(?: for you)?\s*[:—–]",
    ),
    compile_phrase(
        "as if|as though|pretend|act as|roleplay|role-play|jailbr|dan mode|developer mode|god mode",
        r"\b(?:act|behave|respond|answer|speak) as (?:if|though) you (?:are|were|had)\b|\bpretend (?:that )?you(?: are|.re) (?:an?|the|no|not|free|now|in|un\w+)\b"
        r"|\byou (?:are|will act|shall act|must act) (?:now )?(?:in|as) (?:dan|developer|god|maintenance|debug|admin\w*) ?mode\b"
        r"|\b(?:developer|god|dan|maintenance|debug) mode (?:is )?(?:now )?(?:enabled|activated|on|active)\b",
    ),
    compile_phrase(
        "authori|instructed|approved|operator|administrator|principal|developer",
        r"\b(?:operator|administrator|developer|owner|user|principal|security team|vendor)s? (?:of this (?:system|tool|agent) )?"
        r"(?:has |have |hereby )*(?:authori[sz]e[sd]?|instruct(?:s|ed)?|approved?s?|order(?:s|ed)?|permit(?:s|ted)?|grants?) (?:you|the (?:agent"
        r"|assistant|model|ai))\b",
    ),
)
"""Orders to forget, to override and to change the role, and attempts to read prompts and keys."""

ORDERS: Final = (
    compile_phrase(
        "ai|llm|model|bot|gpt|claude|gemini|copilot|summari|assistant|agent|reader|your tool|your system",
        r"(?:^|(?:[.!?:;>(\"*\[\]<#]|(?<!\w)-)\s*)(?:dear|hey|hello|attention|note|notice|memo|message|instructions?|reminder|warning|important|urgent"
        r"|info(?:rmation)?|directive|task|request|order)?s?\W{0,3}(?:to|for)? ?(?:(?:all|any|the|every|whichever|whatever|our|reading|present) )*"
        + _READER
        + r"(?: (?:reading|processing|that (?:reads?|process\w*|summari\w*)|summari[sz]ing|who reads?)[^.:\n]{0,40})?\s*[:,—–!]\s*"
        r"(?:please|you|your|do|don|if|when|ignore|add|say|write|call|use|cite|state|include|stop|send|rate|mark|the (?:user|operator)"
        r"|this is|these are|before|after|always|never|report|treat|store|remember|kindly|open|fetch|visit|run|read|begin|end|finish)\b",
    ),
    compile_phrase(
        "ai|llm|language model|chat|gpt|claude|gemini|assistant|agent",
        r"(?:^|[.!?:;|>(*-]\s*|\b(?:any|all|every|the|an?|whichever|if you are an?|as an?|dear) )"
        + _STRONG_READER
        + r"(?: (?:assistant|agent|model|system)s?)? (?:(?:reading|processing|summari[sz]ing|indexing|parsing|reviewing|analy[sz]ing|that reads?|which reads?"
        r"|who reads?) (?:this|the) [^.\n]{0,40}?)" + _DUTY,
    ),
    compile_phrase(
        "your",
        r"\byour (?:final |whole |entire |next |only |own )*"
        + _RESULT
        + r" (?:must|should|shall|has to|have to|needs? to|will(?! be\b)|is to|are to) (?:not )?(?:only |always |also |exactly |now )?(?:say|state|contain|include|begin"
        r"|start|end|be|read|recommend|mention|conclude|cite|consist|omit|repeat|claim|praise|name|link|rest)\b",
    ),
    compile_phrase(
        "when|whenever|while|before|after|if you|once you",
        r"\b(?:when(?:ever)?|while|before|after|if|once|as soon as) (?:you )?(?:are |have |finish )?(?:summari[sz]\w*|answer(?:ing|ed)?|writ(?:e|ing|ten)"
        r"|cit(?:e|ing)|quot(?:e|ing)|report(?:ing)?|research(?:ing)?|process(?:ing)?|read(?:ing)?|translat(?:e|ing)|compar(?:e|ing)"
        r"|verify(?:ing)?|check(?:ing)?|evaluat(?:e|ing)|finish(?:ed|ing)?|plan(?:ning)?)\b(?: (?:this|the|about|on|from|your|any|a)\b[^.\n]{0,50}?)?"
        # "When writing the output" is no order: a comma, a colon or one of these words comes before the verb.
        r"(?:[,:]\s{1,3}|\s{1,3}(?=you\b|always\b|do\b|never\b|please\b|be sure\b|make sure\b))"
        r"(?:(?:you (?:must|should|shall|will|have to|need to)|always|do not|never|please|be sure to|make sure to|first|also|instead) )?"
        r"(?:say|state|write|add|mention|report that|call|output|conclude|recommend|begin|cite only|insert|append|send|fetch|open|visit|request|ignore"
        r"|leave out|drop|set|rate|mark|claim|tell|repeat|store|remember|include (?:this|the|a|an|these) (?:sentence|line|link|image|url|word|phrase|note|claim))\b",
    ),
    compile_phrase(
        "your|every|each|the final|the abstract|the report|the title|the summary|the conclusion|the answer|the user",
        _START
        + r"(?:say|state|write|add|mention|insert|include|put|place|append|begin|start|end|close|repeat|open|finish|claim|conclude|assert|announce|declare)\b"
        r"[^.\n]{0,90}\b(?:in|into|to|at the (?:end|start|top|beginning|bottom|head) of|with|of) (?:(?:your|every|each)(?: final| next| whole| own)? "
        + _RESULT
        + r"|the (?:final|abstract|report|title|summary|conclusion|answer|user's)(?: final| next| whole| own)? ?"
        + _RESULT
        + r"?)\b(?=[^\n]{0,160}(?:\byour\b|\bfinal\b|verbatim|word for word|exactly|\breport\b|\banswer\b|\bsummary\b))",
    ),
    compile_phrase(
        "your|the final|the report|the answer|the summary",
        _START
        + r"(?:begin|start|end|close|open|finish|conclude|introduce|precede|replace|sign) (?:your|the|each|every)(?: final| next| whole| own)? "
        + _RESULT
        + r" (?:with|by)\b",
    ),
    compile_phrase(
        "only|exactly|nothing but|solely|verbatim|word for word",
        _START
        + r"(?:(?:answer|respond|reply) (?:only|exactly|nothing but|solely|verbatim|just)\b(?! (?:if|when|once|after|as)\b)"
        r"|(?:write|print|say|return|output) (?:only|exactly|nothing but|solely|just) (?:the (?:word|sentence|text|phrase|following)|this|[\"'“]\w))",
    ),
    compile_phrase(
        "cite|citing|quot|use|using|mention|rely|read|consult|trust",
        r"\b(?:do not|don.t|never|stop|avoid|refrain from|no need to|cease) (?:cit(?:e|ing)|us(?:e|ing)|mention(?:ing)?|quot(?:e|ing)|rely(?:ing)? on"
        r"|read(?:ing)?|consult(?:ing)?|trust(?:ing)?|refer(?:ring)? to) (?:(?:any|the|all|of|your) )*(?:other|remaining|previous|earlier|competing|further|rival) ~"
        + _EVIDENCE
        + r"\b",
    ),
    compile_phrase(
        "drop|discard|omit|delete|remove|ignore|disregard|exclude|leave out|suppress|forget|throw",
        _START
        + r"(?:drop|discard|omit|delete|remove|ignore|disregard|exclude|leave out|suppress|forget|throw (?:out|away)) (?:(?:all|every|any|the|of|your) )*"
        r"(?:other|remaining|previous|competing|earlier|further|rival|contrary|conflicting) (?:\w{1,15} )?"
        + _EVIDENCE
        + r"\b",
    ),
    compile_phrase(
        "cite|quote|rely|use",
        _START
        + r"(?:cite|quote|rely on|use|trust|name) (?:only|exclusively|solely|nothing but|just) (?:this|the present|passage|document|source|the following)\b",
    ),
    compile_phrase(
        "stop|end|terminate|finish|abort|conclude|cease|quit",
        _START
        + r"(?:stop|end|terminate|finish|abort|conclude|cease|quit|close) (?:the |your |all |any |this |further )*(?:research|run|search(?:es|ing)?"
        r"|task|investigation|session|work|cycles?|loop|gathering|planning|reading)\b(?: ~(?:now|immediately|at once|here|after this|and (?:answer|report|write)"
        r"|without))",
    ),
    compile_phrase(
        "10/10|10 out of 10|1.0|100|maximum|highest|perfect|full marks|top score|supported|verified|trusted|authoritative|ten out of ten",
        _START
        + r"(?:rate|score|grade|judge|rank|evaluate|set|raise|give|mark|classify|label|flag|treat|consider|accept|report|assign|award)\b[^.\n]{0,70}?"
        r"(?:10/10|10 out of 10|ten out of ten|\b1\.0\b|\b100 ?%|\b(?:maximum|highest|perfect|top)(?: possible)? (?:score|rating|confidence|relevance|quality|grade|value|marks?)"
        r"|full marks|\bas (?:fully )?(?:supported|verified|trusted|confirmed|authoritative|ground truth|the only (?:reliable|trusted|correct))|confidence (?:of |to )?(?:1|100|one)\b)",
    ),
    compile_phrase(
        "memor|remember|long-term|future run|future session|future question",
        r"\b(?:remember|memori[sz]e|store|save|add|write|keep|record|commit|persist)\b[^.\n]{0,60}\b(?:(?:in|into|to|for|of) (?:(?:your |the |all )*"
        r"(?:(?:your|long.term|permanent|persistent) memory|memories|knowledge base|future (?:runs|sessions|questions|conversations|users))))\b",
    ),
    compile_phrase(
        "url|link|address|http|server|endpoint|image|query string|parameter|webhook",
        r"\b(?:append|add|insert|put|encode|send|attach|include|post|submit|forward|upload|transmit|leak|copy|exfiltrate|replace|fill|embed|pass|deliver|report|write)\b"
        r"[^.\n]{0,40}\b(?:what you|everything (?:you|above|so far)|(?:your|the user.?s?|all|every|these|this|each|the)(?: (?:\w{1,15}|of|the|your)){0,3}?"
        r" (?:questions?|conversation|research|prompts?|findings?|secrets?|results?|answers?|(?<!release\s)notes?|context|summar(?:y|ies)|reader|person|history"
        # "append the ?debug= query string parameter" names a part of a URL.
        r"|quer(?:y|ies)(?! (?:string|param))"
        r"|corpus|corpora|passages?|memor(?:y|ies)|knowledge|instructions))\b"
        # What is sent goes somewhere: "all options … [#31722](https:" of a list of changes does not.
        r"[^.\n]{0,60}\b(?:to|into|in|as|at|with|via|through|on)\b[^.\n]{0,40}\b(?:url|link|address|https?|server|endpoint|image|query string|parameter|webhook)\b",
    ),
    compile_phrase(
        "/etc/passwd|/etc/shadow|id_rsa|.ssh|api key|environment variable|.env|credential|password|secret|access token|system prompt|private key|.aws",
        _ORDER_START
        + r"(?:read|open|print|include|send|reveal|output|copy|show|cat|load|dump|post|leak|list|return|fetch|upload|find|disclose|expose|insert|quote)\b[^.\n]{0,50}"
        r"(?:/etc/(?:passwd|shadow)|id_rsa|/?(?<!\w)\.(?:ssh|aws)\b|\byour (?:api keys?|environment|credentials|passwords?|secrets?|access tokens?|(?:system )?prompt|instructions|keys?)"
        r"|\b(?:the|all) (?:user.s )?(?:api keys?|environment variables(?! \w)|credentials|passwords|secrets|access tokens?|system prompt|private keys?)|(?<!\w)\.env\b)",
    ),
    compile_phrase(
        "tool|function|command|read_page|run_python|web_search|sql|browser|shell",
        _ORDER_START
        + r"(?:call|invoke|use|run|execute|trigger|launch|start) (?:the |your |a |this |now |immediately )*(?:\w{1,20} )?(?:tools?|functions?|commands?|plugins?|actions?)\b"
        # The text of a link ends with the word: "Use the [`histogram_quantile()` function](/docs/functions)".
        r"(?!\]\()[^.(\n]{0,40}(?:\bwith\b|\bon\b|\bto (?:read|open|fetch|send|delete|visit|get|store|write)\b|[:`(\[{\"])(?=[^\n]{0,120}(?:https?:|/\w|\burl\b|select\b|[\[({]\s*[\"'“]))",
    ),
    compile_phrase(
        "http|www.",
        _START
        + r"(?:fetch|visit|open|request|read|load|browse to|go to|navigate to|follow|download|get|call|retrieve)\b[^.\n]{0,50}(?:https?://|www\.)\S+[^\n]{0,80}"
        r"\b(?:and (?:follow|do|obey|execute|carry out|run|apply|then)|before (?:you|answering|writing|continuing)|for (?:your|further|the (?:next|remaining)) (?:instructions|orders|steps)"
        # Manuals say "Please read the guide at https://example.org first".
        r"|instructions|immediately|your next (?:step|action))\b",
    ),
    compile_phrase(
        "instruction|orders|steps|directive",
        r"\b(?:follow|obey|execute|carry out|comply with|apply|perform) (?:all |the |every |these |those |its |any |each )*(?:\w{1,15} )?(?:instructions|orders|commands|directives)"
        r" (?:you (?:find|see|read)|given|found|contained|there|on (?:that|the) (?:page|document)|in (?:the |that )?(?:document|page|file|appendix|section)|that follow)\b"
        # People follow "the instructions below" of every manual; they do not obey them.
        r"|\b(?:obey|execute|carry out|comply with|perform) (?:all |the |every |these |those |its |any |each )*(?:\w{1,15} )?(?:instructions|orders|commands|directives) (?:below|above)\b",
    ),
    compile_phrase(
        "user|reader|human|person|anyone|operator",
        r"\b(?:do not|don.t|never|without) (?:tell|inform|alert|warn|mention(?:ing)? (?:this|it|that)|reveal(?:ing)? (?:this|it|that)|disclos(?:e|ing)|notify(?:ing)?|telling|informing|alerting) ~"
        r"(?:user|reader|human|person|people|anyone|operator)s?\b",
    ),
)
"""Orders on what a model does with a document: its answer, its sources, its tools, its memory."""

FORGED_STRUCTURE: Final = (
    compile_phrase("<|", r"<\|[a-z_]{2,30}\|>|<｜[^｜\n]{2,30}｜>"),
    compile_phrase("_of_turn>", r"<(?:start|end)_of_turn>"),
    compile_phrase(
        "tool|function|assistant|system|passage|evidence|invoke|observation",
        (
            r"</?\s*(?:passage|evidence|observation|assistant|tool_calls?|tool_use|tool_results?|function_calls?|function_results?|invoke|system.(?:message|prompt|note|reminder)"
            r"|assistant.(?:message|turn))\b[^>\n]{0,80}>"
        ),
    ),
    compile_phrase(
        "system|developer|admin|assistant|operator",
        r"(?:^|[\[(<{*#_>|]|(?<!\w)-)\s*(?:system|developer|admin(?:istrator)?|operator|assistant|root|supervisor|orchestrator|platform)(?: (?:note|message|override|notice|instructions?|update|prompt|alert"
        # Not the text of a link: "an [operator policy](./policies)".
        r"|command|directive|reminder|policy|level|announcement)){1,2}\s*(?:\](?!\()|[):>*}—–!])",
    ),
    compile_phrase(
        "assistant|ai:|ai :",
        r"(?:^|[\s*#>])(?:user|human|system|developer)\W{0,3}:[^\n]{1,600}?\s(?:\W{0,5}(?:assistant|ai))\W{0,3}:"
        r"|^\W{0,5}(?:user|human|system|developer)\W{0,3}:[^\n]{0,600}\n(?:[^\n]{0,400}\n){0,4}?\W{0,5}(?:assistant|ai)\W{0,3}:",
    ),
    compile_phrase("role", r"[\"']role[\"']\s*:\s*[\"'](?:system|assistant|developer|tool)[\"']"),
    compile_phrase(
        "tool|function|action",
        r"[\"'](?:tool_calls?|tool_use|tool_name|tool|function_call|action|next_action)[\"']\s*:\s*[\[{\"'][^\n]{0,200}?[\"'](?:arguments|action_input|input|args|url|parameters|query|sql|code)[\"']\s*:",
    ),
    compile_phrase(
        "action|observation|final answer",
        r"\b(?:thought|observation)\s*:[^\n]{0,600}?(?:\n[^\n]{0,400}?){0,3}?(?:^|\s)\W{0,4}(?:action|final answer)\s*:|(?:^|\s)action\s*:\s*\w{2,30}\s*[\[(]",
    ),
    compile_phrase(
        "end of|begin|start of|end ",
        r"(?:(?<!-)-{3,}+|(?<!=)={3,}+|(?<!#)#{2,}+|(?<!\*)\*{3,}+|(?<!<)<{2,}+|\[|\x7e{3})\s*+(?:end|begin|start)(?:ning)? (?:of )?(?:the )?(?:document|passage|context|data|evidence|user input|untrusted \w+|sources?|retrieved \w+|instructions?"
        r"|system \w+|input|prompt|search results)s?\s*(?:-{2,}|={2,}|#{2,}|\*{2,}|>{2,}|\]|$|\x7e{3})",
    ),
    compile_phrase(
        "read_page|run_python|finish[|web_search|analyze_document|vector_search|hybrid_search|graph_search",
        r"\b(?:read_page|run_python|web_search|analyze_document|vector_search|hybrid_search|graph_search|compare_documents)\s*[\[(]"
        r"|\bfinish\[",
    ),
)
"""Forged delimiters of roles, tool calls and evidence."""

OTHER_LANGUAGES: Final = (
    compile_phrase(
        "ki|sprachmodell|assistent",
        r"\b(?:ki|sprachmodelle?|ki.(?:assistent\w*|system\w*|modell\w*)|(?:digitale|automatische)\w* assistent\w*)\b[^.\n]{0,100}"
        r"\b(?:muss|müssen|musst|sollst|soll|sollen|bitte|schreib\w*|antworte\w*|nenne\w*|zitier\w*|rufe\w*|sende\w*|füge\w*|beende\w*|gib|geben sie|behaupte\w*)\b",
    ),
    compile_phrase(
        "deine|ihre|deiner|ihrer|deinen|ihren|deinem|ihrem",
        r"\b(?:deine?[rnm]?|ihre?[rnm]?) (?:antwort|bericht|zusammenfassung|ausgabe) (?:muss|soll|darf|lautet|besteht|hat)\b"
        r"|\b(?:schreibe?|füge|nenne|erwähne|behaupte|setze|beginne|beende) [^.\n]{0,80}\b(?:deine[rnm]?|ihre[rnm]?) (?:antwort|bericht|zusammenfassung)\b",
    ),
    compile_phrase(
        "anweisung|instruktion|befehl|vorgabe",
        (
            r"\b(?:anweisung\w*|instruktion\w*|befehl\w*|vorgabe\w*) (?:an|für) (?:die |alle |das |den |jede\w* )*(?:ki|sprachmodell\w*|assistent\w*|agent\w*)\b"
            r"|\b(?:neue|wichtige|geheime) (?:anweisung\w*|instruktion\w*|aufgabe|befehl\w*)\s*[:—–]"
        ),
    ),
    compile_phrase(
        "ia|modèle de langage|assistant",
        r"\b(?:assistants? (?:ia|d.ia|virtuel\w*)|modèles? de langage|(?:l.|une |les )ia|agent ia)\b[^.\n]{0,100}\b(?:doi(?:s|t|vent)|devez|veuillez|écri\w*|répond\w*|cite[rz]?|ignore[rz]?|ajoute[rz]?|envoye[rz]?"
        r"|appele[rz]?|affirme[rz]?)\b",
    ),
    compile_phrase(
        "votre|ta ",
        r"\b(?:votre|ta|ton) (?:réponse|rapport|résumé|sortie) (?:doit|devra)\b|\b(?:nouvelles? (?:instructions?|consignes?)) ?[:—–]",
    ),
    compile_phrase(
        "ia|modelo de leng|modelo de ling|asistente|assistente|inteligencia artificial|inteligência artificial",
        r"\b(?:asistentes? (?:de ia|virtual\w*)|assistentes? (?:de ia|virtua\w*)|modelos? de (?:lenguaje|linguagem)|(?:la|una|las|uma|a) ia|inteligencia artificial|inteligência artificial)\b[^.\n]{0,100}"
        r"\b(?:debe\w*|deve\w*|escrib\w*|escrev\w*|respond\w*|ignor\w*|cit[ae]\w*|añad\w*|adicion\w*|envi\w*|llam\w*|cham\w*|afirm\w*|por favor)\b",
    ),
    compile_phrase(
        "su |tu |sua ",
        r"\b(?:su|tu|sua|a sua) (?:respuesta|resposta|informe|relatório|resumen|resumo) (?:debe|deve|tiene que|tem de)\b|\b(?:nuevas instrucciones|novas instruções) ?[:—–]",
    ),
    compile_phrase(
        "ia|modello linguistico|assistente|intelligenza artificiale",
        r"\b(?:assistenti? (?:ia|ai|virtual\w*)|modell[oi] linguistic[oi]|intelligenza artificiale)\b[^.\n]{0,100}\b(?:dev[ei]\w*|scriv\w*|rispond\w*|ignor\w*|cit[ai]\w*|aggiung\w*|invi\w*|chiam\w*)\b",
    ),
    compile_phrase(
        "risposta|rapporto|riassunto",
        r"\b(?:la tua|la vostra|il tuo|la sua) (?:risposta|rapporto|riassunto) (?:deve|dovrà)\b",
    ),
    compile_phrase(
        "языков|искусственн|ассистент|ии|помощник|модел",
        r"(?:языков\w+ модел\w+|искусственн\w+ интеллект\w*|\bии\b|ассистент\w*|ии.?помощник\w*)[^.\n]{0,100}(?:долж\w+|обязан\w*|напиши\w*|ответ\w+|укажи\w*|игнорир\w+|отправ\w+|вызов\w+|цитир\w+|пожалуйста|необходимо)",
    ),
    compile_phrase(
        "инструкц|указани|правил",
        r"(?:не обращай\w* внимания на|отмени\w*|новые) ~(?:инструкц|указани|правил)\w*(?: ?[:—–]| ~(?:выше|ранее|прежн))|(?:игнорируй|забудь)\w*",
    ),
    compile_phrase(
        "нейромереж|мовн|інструкц|штучн",
        r"(?:ігноруй\w*|забудь\w*) ~інструкц\w*|(?:мовн\w+ модел\w+|штучн\w+ інтелект\w*)[^.\n]{0,80}(?:повин\w+|напиш\w+|відпов\w+)",
    ),
    compile_phrase(
        "语言模型|語言模型|人工智能|人工智慧|ai助手|ai 助手|智能助手|大模型",
        r"(?:语言模型|語言模型|人工智能(?:助手)?|人工智慧|ai ?助手|智能助手|大模型)[^。\n]{0,40}(?:必须|必須|应该|應該|应当|请|請|务必|不要|只能|需要|写|寫|回答|引用|调用|忽略)",
    ),
    compile_phrase(
        "回答|报告|報告|总结|摘要",
        r"(?:你的|您的|最终|最終)(?:回答|报告|報告|总结|摘要|答案)[^。\n]{0,10}(?:必须|必須|应该|只能|要|中写|里写)|(?:新的?|真正的?)(?:指令|任务|任務)[:：]",
    ),
    compile_phrase(
        "言語モデル|aiアシスタント|人工知能|ai は|aiは|アシスタント",
        r"(?:言語モデル|ai ?アシスタント|人工知能|\bai|アシスタント)[^。\n]{0,60}(?:しなさい|してください|書いて|書け|答えて|答え(?:なさい|よ)|無視|引用し|呼び出|送信|べき)",
    ),
    compile_phrase(
        "언어 모델|언어모델|인공지능|ai 어시스턴트|어시스턴트|ai 비서",
        r"(?:언어 ?모델|인공지능|ai ?어시스턴트|어시스턴트|ai ?비서)[^.\n]{0,60}(?:하세요|하십시오|해야|쓰세요|답하|무시|인용|호출|작성)",
    ),
    compile_phrase(
        "yapay zek|dil modeli|talimat",
        r"\b(?:önceki|yukarıdaki|tüm|bütün) ~talimat\w* ~(?:yok say|görmezden|unut|dikkate alma)\w*|\b(?:yapay zek[aâ]|dil modeli)\w*[^.\n]{0,80}(?:meli|malı|yaz\w*|cevapla|yok say|görmezden)",
    ),
    compile_phrase(
        "instrukcj|polece|model językow|sztuczn",
        r"\b(?:zignoruj|pomiń|zapomnij)\w* ~(?:instrukcj|polece|wytyczn)\w*|\b(?:model\w* językow\w*|sztuczn\w+ inteligencj\w*|asystent\w* ai)[^.\n]{0,80}(?:mus\w+|powin\w+|napisz|odpowiedz)",
    ),
    compile_phrase(
        "instructie|taalmodel|assistent",
        r"\b(?:negeer|vergeet) ~(?:instructies|opdrachten|aanwijzingen)\b|\b(?:taalmodel\w*|ai.assistent\w*)[^.\n]{0,80}(?:moet\w*|schrijf|antwoord)",
    ),
    compile_phrase(
        "instruktion|språkmodell|sprogmodel",
        r"\b(?:ignorera|glöm|ignorer|glem) ~(?:instruktion|anvisning)\w*|\bspråkmodell\w*[^.\n]{0,80}(?:måste|ska|skriv|svara)",
    ),
    compile_phrase(
        "تعليمات|نموذج|الذكاء|المساعد|تجاهل",
        r"(?:تجاهل|انس)\w* [^.\n]{0,30}(?:التعليمات|الأوامر|تعليمات)|(?:النموذج اللغوي|نموذج لغوي|الذكاء الاصطناعي|المساعد (?:الذكي|الآلي))[^.\n]{0,60}(?:يجب|اكتب|أجب|عليك|تجاهل)",
    ),
    compile_phrase(
        "निर्देश|एआई|भाषा मॉडल",
        r"(?:पिछले|सभी|पूर्व|उपरोक्त)[^।\n]{0,20}निर्देश[^।\n]{0,20}(?:अनदेखा|नज़रअंदाज़|भूल)|(?:एआई|भाषा मॉडल)[^।\n]{0,60}(?:करें|लिखें|चाहिए|करो)",
    ),
    compile_phrase(
        "הוראות|בינה מלאכותית|מודל שפה",
        r"התעל(?:ם|מו|מי)[^.\n]{0,30}הוראות|(?:בינה מלאכותית|מודל שפה)[^.\n]{0,60}(?:חייב|עליך|כתוב|ענה)",
    ),
    compile_phrase("οδηγ", r"(?:αγνόησε|αγνοήστε|ξέχασε|ξεχάστε)[^.\n]{0,40}οδηγ\w+"),
    compile_phrase(
        "instruksi|arahan|model bahasa",
        r"\b(?:abaikan|lupakan) ~(?:instruksi|perintah|arahan)\b|\bmodel bahasa\b[^.\n]{0,60}(?:harus|tulis|jawab)",
    ),
    compile_phrase("hướng dẫn|chỉ dẫn|chỉ thị", r"\b(?:bỏ qua|phớt lờ|quên) [^.\n]{0,30}(?:hướng dẫn|chỉ dẫn|chỉ thị)"),
    compile_phrase(
        "instrucțiuni|pokyn|utasítás|ohjeet|ohjeita",
        r"\bignor\w* ~instrucțiuni\w*|\bignoruj\w* ~pokyn\w*|\butasítás\w*[^.\n]{0,30}hagy\w* figyelmen|\b(?:ohita|unohda) ~ohje\w*",
    ),
)
"""Such orders in languages other than English."""

ALL_ORDERS: Final = (*OVERRIDES, *ORDERS, *OTHER_LANGUAGES)
