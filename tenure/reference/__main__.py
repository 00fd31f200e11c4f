"""Write the generated pages and tables of the manual: `python -m tenure.reference`."""

from tenure.reference import commands, settings, tables, tools


def main() -> None:
    """Write the pages of commands, settings and tools, and the tables of other pages."""
    for page in (commands, settings, tools):
        page.PUBLISHED.write_text(page.render_page(), encoding="utf-8")
    tables.write_tables()


if __name__ == "__main__":
    main()
