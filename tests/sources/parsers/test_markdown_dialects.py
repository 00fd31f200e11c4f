"""Tests of the notations of manuals that CommonMark lacks."""

import re
import time

import pytest

from tenure.sources.parsers import markdown_dialects
from tenure.sources.parsers.formats.markdown import parse_markdown
from tenure.sources.parsers.markdown_dialects import expand_dialects
from tests.architecture.text_functions import TextFunction

DOCUSAURUS = """\
import Tabs from '@theme/Tabs';

# Priorities {#priorities}

:::important

A queue has 32 levels.

:::

:::tip[Benefit #9]
- one
- two
:::

::::{warning} Limits
Do not use it.
::::

## Policies \\{#policies}

<Tabs groupId="os">
<TabItem value="bash" label="Bash">
```bash
rabbitmqctl set_policy qq \\
  "^qq\\." '{"limit":1}'
```
</TabItem>
<TabItem value="none">
Nothing.
</TabItem>
</Tabs>
"""
MKDOCS = """\
# Routers { #routers .wide }
{: .subtitle }

!!! warning "The character `@` is not allowed."
    A first line
    and a second.

    ```yaml
    a:
      b: 1
    ```

    ??? note inline end
        Nested words.

After it.

=== "Linux"

    Use it:

    ```sh
    # not {#an-anchor}
    !!! install
    ```

=== "Mac"
    Use brew.

- an item

    !!! info
        in the item
- the next
"""


def test_containers_tabs_and_anchors_of_docusaurus_are_read() -> None:
    """A note keeps its kind and title, a tab its label, code its lines, and a heading loses its id."""
    document = parse_markdown(DOCUSAURUS)

    assert document.title == "Priorities"
    assert document.text == (
        "# Priorities\n\nImportant:\n\nA queue has 32 levels.\n\nTip – Benefit #9:\n\n- one\n- two\n\n"
        "Warning – Limits:\n\nDo not use it.\n\n## Policies\n\nBash:\n\n"
        '    rabbitmqctl set_policy qq \\\n      "^qq\\." \'{"limit":1}\'\n\nNothing.'
    )


def test_admonitions_and_tabs_of_mkdocs_are_read() -> None:
    """Indented contents are text and code of their own, also when nested or in an item; code itself is unchanged."""
    assert parse_markdown(MKDOCS).text == (
        "# Routers\n\nWarning – The character @ is not allowed.\n\nA first line and a second.\n\n"
        "    a:\n      b: 1\n\nNote:\n\nNested words.\n\nAfter it.\n\n"
        "Linux:\n\nUse it:\n\n    # not {#an-anchor}\n    !!! install\n\nMac:\n\nUse brew.\n\n"
        "- an item Info: in the item\n- the next"
    )


def test_code_below_a_tag_of_html_keeps_its_lines() -> None:
    """CommonMark reads code directly below a tag as a part of the tag's block."""
    assert parse_markdown("<details>\n```\na\n  b\n```\n</details>").text == "    a\n      b"


def test_a_note_in_a_table_of_html_leaves_the_table_whole() -> None:
    """Blank lines and containers do not end a table; a start without an end is a part of the text around it."""
    row = "<tr>\n<td>uri</td>\n<td>\n  Mandatory.\n\n  :::important\n  Since 26.\n  :::\n</td>\n</tr>"

    assert (
        parse_markdown(f"<table>\n{row}\n</table>\n\nAfter it.").text
        == "| uri | Mandatory. Important: Since 26. |\n\nAfter it."
    )
    assert parse_markdown("It opens `<table>`.\n\n:::tip\nUse it.\n:::").text == "It opens <table>.\n\nTip:\n\nUse it."


@pytest.mark.parametrize("before", ["It opens `<table>`.", "<tables>", "```html\n<table>\n```"])
def test_a_mention_of_a_table_does_not_open_it(before: str) -> None:
    """Only a line that begins with the tag opens a table, so that what follows a mention is read as usual."""
    text = f'{before}\n\n!!! note "Use it"\n    Words.\n\n```html\na\n\n</table>\n```\n\nIt ends with `</table>`.'

    assert parse_markdown(text).text.endswith(
        "Note – Use it:\n\nWords.\n\n    a\n\n    </table>\n\nIt ends with </table>."
    )


def test_the_end_of_a_table_in_code_is_none() -> None:
    """A start is a part of the text around it if only code has its end, and code in a table does not end the table."""
    text = "<table>\n\n!!! note\n    Words.\n\n```\n</table>\n```"
    table = "<table>\n<tr><td>\n\n```\n!!! note\n\n</table>\n```\n\n</td></tr>\n</table>\n\n!!! tip\n    Last."

    assert "Note:\n\nWords." in parse_markdown(text).text
    assert "!!! note" in parse_markdown(table).text
    assert parse_markdown(table).text.endswith("\n\nTip:\n\nLast.")


def test_many_starts_of_tables_are_read_in_linear_time() -> None:
    """Tables that do not end, and their ends in code, are read once."""
    lines = ["<table>", "```", "</table>", "", "```", "`<table>`"] * 20_000
    started = time.process_time()

    assert len(expand_dialects("\n".join(lines))) > 100_000
    assert time.process_time() - started < 5.0  # 0.8 s


def test_ordinary_text_is_not_rewritten() -> None:
    """Exclamation marks, headings underlined by equal signs, and sentences on imports stay text."""
    text = "Wow!!! That is it.\n\nTitle\n===\n\nimport words from 'nowhere';"

    assert parse_markdown(text).text == "Wow!!! That is it.\n\n# Title\n\nimport words from 'nowhere';"


def test_lines_without_marks_are_read_as_by_all_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first character of a line decides only what the patterns would decide."""
    tails = (
        "",
        " Title",
        ":: tip",
        "?? note",
        "{#a}",
        '!! note "Title"',
        '== "Linux"',
        "[!NOTE] Title",
        "Tab>",
        "% hint %}",
        "{< new >}}",
    )
    rests = (
        "#a}",
        "++",
        "label)=",
        "-8<-- 'x'",
        "`{note} Title",
        "mport A from 'b'",
        "xport * from './b'",
        "/table>",
        "# A {#b}",
    )
    starts = [f"{indent}{chr(code)}" for indent in ("", "  ", "\t") for code in range(0x20, 0x7F)]
    text = "\n\n".join(f"{start}{tail}" for start in starts for tail in (*tails, *rests) if "`" not in start)
    expected = expand_dialects(text)
    monkeypatch.setattr(markdown_dialects, "_PLAIN", re.compile("(?!)"))

    assert expand_dialects(text) == expected


def test_templates_of_gitbook_hugo_and_jekyll_are_no_words() -> None:
    """Hints and tabs introduce what they contain, tags around code are fences, and other tags are removed."""
    gitbook = (
        '{% hint style="info" %}\nUse it.\n{% endhint %}\n\n{% tabs %}\n{% tab title="Linux" %}\nRun it.\n{% endtab %}'
        "\n{% endtabs %}"
    )
    hugo = (
        "{{< new-in 0.161.0 />}}\n: (string) A name.\n\n{{< code-toggle file=hugo >}}\n[params]\na = 1\n"
        "{{< /code-toggle >}}\n\n> [!NOTE]\n> Mind it.\n\nUse {{% param name %}} or `{{< tag >}}`."
    )
    jekyll = (
        "* this\n{:toc}\n\n{% highlight ruby %}\nputs 1\n{% endhighlight %}\n\n"
        "Fixed ([#1]({{ site.repository }}/issues/1)) {% raw %}{{ page.url }}{% endraw %} in `{% raw %}`."
    )

    assert parse_markdown(gitbook).text == "Info:\n\nUse it.\n\nLinux:\n\nRun it."
    assert parse_markdown(hugo).text == (
        ": (string) A name.\n\n    [params]\n    a = 1\n\nNote:\n\nMind it.\n\nUse or {{< tag >}}."
    )
    assert parse_markdown(jekyll).text == ("- this\n\n    puts 1\n\nFixed (#1) {{ page.url }} in {% raw %}.")


def test_directives_and_roles_of_myst_are_read() -> None:
    """A directive introduces its words without its options, also around code, and a role keeps its words."""
    text = (
        "(target)=\n# Title\n\n````{note} Mind\n:class: dropdown\nSee {ref}`the page <target>` and {doc}`../intro`.\n"
        "```python\nx = 1\n```\n````\n\n+++\n\n:::{admonition} Own title\nWords.\n:::\n\n"
        "```{code-block} python\ny\n```\n"
    )

    assert parse_markdown(text).text == (
        "# Title\n\nNote – Mind:\n\nSee the page and ../intro.\n\n    x = 1\n\nOwn title:\n\nWords.\n\n    y"
    )


def test_notes_tabs_and_included_files_of_fastapi_are_read() -> None:
    """The words of a note stay; its marks, those of tabs, and the paths of included files are no words."""
    text = (
        "# Types\n\nRead it.\n\n{* ../../docs_src/tutorial001_py310.py hl[1] *}\n\n/// note | Technical Details\n\n"
        "It is `str`.\n\n///\n\n//// tab | Python 3.10+\n\n/// tip\n\nUse it.\n\n///\n\n////\n\n"
        "/// details | Why\nBecause.\n///\n\nRun `// a` /// b."
    )

    assert parse_markdown(text).text == (
        "# Types\n\nRead it.\n\nNote – Technical Details:\n\nIt is str.\n\nPython 3.10+:\n\nTip:\n\nUse it.\n\n"
        "Why:\n\nBecause.\n\nRun // a /// b."
    )


def test_keys_and_options_are_no_marks() -> None:
    """Keys lose their marks, also in titles; options below a container are left out, and operators stay."""
    text = (
        '=== ":material-apple: macOS"\n\n    Press ++cmd+q++.\n\n'
        ":::{grid-item-card} Guide\n:link: guide\n:link-type: ref\n\nHeader\n^^^\n"
        "Read it in C++ or with i++ and ++j.\n:::"
    )

    assert parse_markdown(text).text == (
        "macOS:\n\nPress cmd+q.\n\nGuide:\n\nHeader\n\nRead it in C++ or with i++ and ++j."
    )


def test_a_line_directly_below_a_container_without_braces_is_text() -> None:
    """Docusaurus has no options, so a line that begins with an emoji is a part of the note."""
    assert "Never delete the log." in parse_markdown(":::note\n:warning: Never delete the log.\n:::").text


def test_icons_attributes_and_components_are_no_words() -> None:
    """Icons, classes, comments, snippets and tags over several lines are removed; code and set notation stay."""
    text = (
        'Words :material-linux:{ .lg .middle } here. {/* note */}\n\n--8<-- "part.md"\n\n'
        "<ThemedImage\n  alt=\"A\"\n  sources={{\n    light: 'a',\n  }}\n/>\n\nimport Note from './note';\n\n"
        "Set `:material-linux:` and {a, b}, {x: 1}."
    )

    assert parse_markdown(text).text == "Words here.\n\nSet :material-linux: and {a, b}, {x: 1}."


@pytest.mark.parametrize(
    "piece",
    [
        *("{%", "{% a ", "{{<", "{{< a ", "{ref}`a ", "`", "`a", ":material-a", "{.a ", "{:a", "{/* ", "style={{ "),
        *(
            "```{note}\n",
            "> [!NOTE]\n",
            "](a{{",
            "<A\n",
            "(a)=\n",
            "import A ",
            ":::{note}\n:::\n",
            "{% highlight a %}\n",
            "///",
            "{* a",
            "++a+",
        ),
    ],
)
def test_time_grows_with_length(piece: str) -> None:
    """A text of one repeated piece is rewritten in proportional time."""
    assert not TextFunction(expand_dialects).is_slow(piece)
