"""Test that the HTML page is complete, self-contained and safe against its text."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import PurePosixPath

import pytest
from markupsafe import Markup

from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.report.assemble import assemble_result
from tenure.report.render.html import TEMPLATES, convert_markdown, make_environment, render_html
from tests.cli.stub_worker import DRAFT
from tests.report.render.test_escaping import ATTACKS
from tests.report.samples import full, hostile, programmed, report, varied

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Reads a page as a browser would: elements with the names of their attributes, links, ids and words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.headings: list[int] = []
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        values = {name: value or "" for name, value in attrs}
        self.links += [values["href"]] if "href" in values else []
        self.ids += [values["id"]] if "id" in values else []
        self.targets += [values["popovertarget"]] if "popovertarget" in values else []
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words += data


def read(html: str) -> Reader:
    return Reader(html)


def test_the_page_is_whole() -> None:
    """Every part of a report has its place, each element is closed, and every link within the page leads somewhere."""
    page = read(render_html(full(), PurePosixPath("/library")))
    words = " ".join(page.words.split())

    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} | set(page.targets) <= set(page.ids)
    for part in (
        "Why the sea moves",
        "Short answer: The Moon",
        "tide.png, 1,200 bytes, kept as /library/kept/0-tide.png",
        "Contradictions between sources",
        "Severity: medium",
        "Further Considerations",
        "Say more on neap tides",
        "notes/tides.md",
        "Limits: 10 searches",
        "Too short.",
        "ended as done",
    ):
        assert part in words


def test_a_question_that_is_the_title_is_shown_once() -> None:
    """A title that differs from the question only in its punctuation replaces it."""
    result = full().model_copy(update={"question": "Why, the sea moves?"})

    assert "Why, the sea moves?" not in render_html(result)
    assert "What moves the sea?" in render_html(result.model_copy(update={"question": "What moves the sea?"}))


def test_headings_go_down_one_step_at_a_time() -> None:
    """The title is the only heading of its rank, and no rank is left out."""
    ranks = read(render_html(full())).headings

    assert ranks.count(1) == 1
    assert ranks[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(ranks))


def test_a_mark_opens_its_quote_in_context() -> None:
    """A citation's button names an element with the words, those around them and what is known of the support."""
    html = render_html(full())
    popover = re.search(r'popover id="cite-1".*?</span>\n  </span>', html, re.DOTALL)

    assert popover
    assert "<mark>The Moon pulls the water towards it.</mark>" in popover[0]
    assert "supported" in popover[0]
    assert 'href="https://moon.example/pull?a=1#:~:text=The%20Moon%20pulls%20the%20water%20towards%20it."' in popover[0]
    assert "The sea also falls twice a day. <mark>" not in popover[0]
    assert "The sea rises twice a day. <mark>The sea also falls twice a day.</mark> Neap tides are weak." in html


def test_the_status_of_a_sentence_can_be_seen() -> None:
    """Doubtful sentences carry a mark that is explained once, and the top counts them all."""
    html = render_html(full())
    words = " ".join(read(html).words.split())

    assert words.count("[not confirmed]") == 2
    assert words.count("[contradicted]") == 2
    assert words.count("[source does not match]") == 2
    assert words.count("[unsourced]") == 2
    assert "14 sentences: 9 supported, 1 not checked, 1 not confirmed" in words
    assert '<span class="claim unverified">The sea is old.</span>' in html


def test_nothing_is_loaded_and_nothing_runs() -> None:
    """The page has no script, and its policy allows one style sheet, by its hash, and nothing else."""
    html = render_html(full())
    page = read(html)
    sheet = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert sheet
    digest = b64encode(sha256(sheet[1].encode()).digest()).decode()

    assert (
        f"default-src &#39;none&#39;; img-src data:; style-src &#39;sha256-{digest}&#39;; base-uri &#39;none&#39;"
        in html
    )
    assert not {tag for tag, _ in page.elements} & {"script", "link", "img", "iframe", "object", "form"}
    assert not {
        name for _, names in page.elements for name in names if name.startswith("on") or name in ("style", "src")
    }
    assert "url(" not in sheet[1]
    assert "@import" not in sheet[1]


@pytest.mark.parametrize("attack", [*ATTACKS, '" onmouseover="x', "{{ 7 * 7 }}", "</style><script>x</script>", "]]>"])
def test_hostile_words_change_nothing_of_the_page(attack: str) -> None:
    """With hostile words in every field the page has the elements it has with harmless ones, and shows the words."""
    plain, attacked = read(render_html(hostile("harmless"))), read(render_html(hostile(attack)))
    formats = {("code", ()), ("em", ()), ("strong", ())}

    assert [e for e in attacked.elements if e not in formats] == [e for e in plain.elements if e not in formats]
    assert {link.split("#")[0] for link in attacked.links} == {"", "https://moon.example/pull?a=1"}


def test_characters_that_act_on_a_terminal_or_hide_are_left_out() -> None:
    """Neither words, nor attributes, nor markup that is passed unescaped bring control characters to a page."""
    attack = "a\x1b]52;c;aGk=\x07b\x9bc\u202ed\u2066e\u200bf\u00adg\x00h\U000e0041i"
    html = render_html(hostile(attack)) + render_html(programmed(attack))
    template = make_environment(TEMPLATES).from_string("{{ a }}|{{ b }}|{{ c|safe }}|<i title='{{ a }}'>")
    page = template.render(a=attack, b=Markup(f"<b>{attack}</b>"), c=f"<i>{attack}</i>")

    assert page == "a]52;c;aGk=bcdefghi|<b>{0}</b>|<i>{0}</i>|<i title='{0}'>".format("a]52;c;aGk=bcdefghi")
    assert "a]52;c;aGk=bcdefghi" in html
    assert html == remove_control_characters(html)


def test_a_report_without_evidence_is_a_page_too() -> None:
    """The page says that nothing was found and what to try."""
    page = read(render_html(assemble_result(report(abstract=Draft(), sections=(), information_gain=()), {})))
    words = " ".join(page.words.split())

    assert "No evidence was found." in words
    assert "Ask again in the words of the documents." in words
    assert "Quotes" not in words


def test_a_program_is_shown_with_its_proof() -> None:
    """The report on a program has its code, its tests and its attempts under headings of their own."""
    html = render_html(programmed())
    words = " ".join(read(html).words.split())

    assert '<span class="keyword">def</span> <span class="name">double</span>(n):\n' in html
    assert "1 of 2 tests passed in the sandbox." in words
    assert "test_double: assert 3 == 4" in words
    assert "Attempt 1 (0 of 1 test, 0.10 s) failed: test_double: assert 3 == 4" in words
    assert "The attempts" in words


@pytest.mark.parametrize(
    "attack", ["```\n# A heading", "<script>x</script>", "</code></pre><b>", "~~~\n[x](javascript:y)"]
)
def test_hostile_code_stays_in_its_block(attack: str) -> None:
    """Whatever a program's text holds, the page has the elements it has with a harmless one of as many lines."""
    harmless = "\n".join("pass" for _ in attack.splitlines())

    shown, expected = (read(render_html(programmed(text))).elements for text in (attack, harmless))
    colours = ("span", ("class",))
    assert [one for one in shown if one != colours] == [one for one in expected if one != colours]


def test_marks_can_name_author_and_year() -> None:
    """In that style a mark shows author and year and still leads to its source."""
    html = render_html(full(), style="author-year")

    assert 'aria-label="Author 2024, On tides">Author 2024</button>' in html
    assert "(Author 2024)" in " ".join(read(html).words.split())


def test_text_that_runs_from_right_to_left_is_let_run() -> None:
    """Paragraphs take their direction from their own words."""
    assert '<p dir="auto">' in render_html(full())


def test_every_form_of_text_has_its_element() -> None:
    """Tables scroll in their own box, terms, lists and code are such, and quotes and reasoning are folded."""
    html = render_html(varied())
    page = read(html)

    assert html.count('<div class="wide" role="group"') == 2
    assert '<th scope="row" dir="auto">Spring</th>' in html and '<th scope="col" dir="auto">Strength</th>' in html
    assert '<dt dir="auto">Neap *tide*</dt>' in html
    assert '<pre tabindex="0"><code>@tide.rise\ndef rise(sea):\n    return &#39;[1] `up`&#39;</code></pre>' in html
    assert {"ol", "details", "dl", "em", "strong"} <= {tag for tag, _ in page.elements}
    assert html.count("<details>") == 1
    assert '<span class="claim supported">The tides are these:</span>' in html
    assert "[i]" in page.words


def test_a_percentage_stays_on_its_line() -> None:
    """The space before a percent sign does not break, as in a narrow cell of a table."""
    gap = Claim(text="No source says what fell by 5 %.", kind="gap")
    html = render_html(assemble_result(report(abstract=Draft(blocks=(Block(claims=(gap,)),))), {}))

    assert "what fell by 5\u00a0%." in html


def test_gaps_and_lead_ins_are_not_counted() -> None:
    """The line at the top counts sentences that need sources only."""
    with_gaps, without = varied(), varied(synthesis=None)

    assert "19 sentences: 18 supported, 1 not checked. 2 sources." in read(render_html(with_gaps)).words
    assert "14 sentences: 14 supported. 2 sources." in read(render_html(without)).words


def test_a_draft_has_the_form_of_a_report() -> None:
    """Headings follow those of the page, marks stay, and a wide table is in a box of its own."""
    html = convert_markdown(DRAFT + "\n## Baking\n\n- **Hot** `oven` [4]\n\n```\n<pre>\n```\n", 3)

    assert html.startswith('<h3 dir="auto">Rye rises for two hours [1]</h3>')
    assert '<h4 dir="auto">Baking</h4>' in html
    assert '<li dir="auto"><strong>Hot</strong> <code>oven</code> [4]</li>' in html
    assert '<div class="wide" tabindex="0"><table>' in html and "</table></div>" in html
    assert '<pre tabindex="0"><code>&lt;pre&gt;' in html


def test_a_draft_loads_and_runs_nothing() -> None:
    """HTML, links, images and the styles of columns are text or left out."""
    html = convert_markdown(
        DRAFT
        + "\n<script>x</script> <https://example.org> [here](javascript:x) [it][it]\n\n[it]: http://example.org\n",
        3,
    )

    assert set(re.findall(r"<(\w+)", html)) == {"h3", "p", "div", "table", "thead", "tbody", "tr", "th", "td"}
    assert "style=" not in html and "href=" not in html
