"""Tests of the numbers, dates and names of a statement and their presence in the source."""

import pytest

from tenure.algorithms.text.details import (
    NumberMention,
    extract_numbers,
    extract_proper_nouns,
    find_conflicting_details,
    find_missing_names,
    find_missing_numbers,
    find_unsupported_details,
)


def test_numbers_are_extracted_from_digits_and_words() -> None:
    """Separators, decades and number words are parsed; a version is not a number."""
    text = "In the 1970s twelve bakers made 1,234 loaves of 2.5 kilos with Python 3.11.2."

    assert extract_numbers(text) == {
        NumberMention(1970, True),
        NumberMention(12),
        NumberMention(1234),
        NumberMention(2.5),
    }
    assert extract_numbers(text, include_words=False) == {
        NumberMention(1970, True),
        NumberMention(1234),
        NumberMention(2.5),
    }


@pytest.mark.parametrize(
    ("claim", "source", "lost"),
    [
        ("Born in the 1970s.", "Born on 9 February 1975.", set()),
        ("Born in 1975.", "Born in the 1970s.", set()),
        ("Born in the 1960s.", "Born in 1975.", {NumberMention(1960, True)}),
        ("Made by 12 bakers.", "Made by twelve bakers.", set()),
        ("Made by two bakers.", "Made by three bakers.", {NumberMention(2)}),
        ("Born in 1975.", "Born in the 1960s.", {NumberMention(1975)}),
        ("It weighs 1.5 tons.", "It weighs 1,500 kilos.", set()),
        ("Es wiegt 2,5 Kilo.", "It weighs 2.5 kilos.", set()),
        ("Required since 4.3.", "The release 4.3.0 requires it.", set()),
        ("Required since 4.4.", "The release 4.3.0 requires it.", {NumberMention(4.4)}),
    ],
)
def test_missing_numbers_are_found(claim: str, source: str, lost: set[NumberMention]) -> None:
    """A number matches any spelling, a decade matches any of its years."""
    assert find_missing_numbers(claim, source) == lost


def test_proper_nouns_are_capitalised_inside_a_sentence() -> None:
    """The first word of a sentence and a capitalised stop word are not names."""
    assert extract_proper_nouns("Bread of Rome. Salt is sold in Ostia by The guild.") == ("Rome", "Ostia")


def test_names_are_not_checked_in_other_languages() -> None:
    """German capitalises all nouns, so capitals do not mark names."""
    assert find_missing_names("Der Bäcker lässt den Teig im Ofen ruhen.", "The baker lets the dough rest.") == ()


def test_names_match_in_any_case_and_form() -> None:
    """A name in lower case, with a possessive or in parts matches."""
    assert find_missing_names(
        "Salt came from Ostia's docks to Anglo-Saxon kings in Kent.", "the docks of ostia; a Saxon"
    ) == ("Kent",)


def test_a_unit_next_to_its_number_is_known() -> None:
    """The name of a unit is found where its number touches it."""
    assert find_missing_names("The index takes 1 MB of memory.", "it needs at least 1MB") == ()


@pytest.mark.parametrize(
    ("claim", "source", "expected"),
    [
        ("It was sold for 40 coins in March to Livia.", "Livia paid forty coins on 3 Mar 1999.", ()),
        ("It was sold in March.", "Sold on 1999-03-12.", ()),
        ("It was sold in March.", "Sold in June.", ("March",)),
        ("It was sold on 17 July 2024.", "Sold: 17-Jul-2024", ()),
        ("It was sold on 17-Jul-2024.", "Sold: 17-Jul-2024", ()),
        ("It uses SHA-256 and UTF-8.", "Both sha256 and utf-8 are used.", ()),
        ("It uses SHA-512.", "It uses sha256.", ("512", "SHA-512")),
        ("It needs version 3.11.2 now.", "It needs version 3.11.3.", ("3.11.2",)),
        ("It needs version 3.11.2 now.", "Since 3.11.2 it is so.", ()),
        ("It cost 41 coins, said Livia.", "It cost 40 coins.", ("41", "Livia")),
        ("It is so, see https://a.example/page.", "It is so.", ("https://a.example/page",)),
        ("It is so, see https://a.example/page.", "It is so: https://a.example/page", ()),
        ("He said “it is not so”, and left.", "It is so, he said.", ("it is not so",)),
        ("He said “it is so”, and called it “a must”.", "It is so, he said.", ()),
    ],
)
def test_unsupported_details_are_listed(claim: str, source: str, expected: tuple[str, ...]) -> None:
    """Numbers, versions, months and names that the source lacks are listed."""
    assert find_unsupported_details(claim, source) == expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("These three options share 2 limits.", ()),
        ("Dough rises for seven hours.", ("7 hour",)),
        ("There are five ovens.", ("5 oven",)),
        ("Three ovens are used for rye.", ()),
        ("There are four ovens.", ()),
        ("It costs 45 euros since 1999.", ("1999", "45")),
        ("The Scottish baker Apicius sells it.", ("Apicius",)),
        ("Rye from Genoa and Scotland is best.", ()),
        ("It was baked in May, says https://a.example/b.", ("https://a.example/b",)),
        ("“Never bake without salt at all”, it says.", ("Never bake without salt at all",)),
    ],
)
def test_conflicting_details_are_listed(claim: str, expected: tuple[str, ...]) -> None:
    """Counts and names from other passages are no conflict; measures, replaced numbers and inventions are."""
    source = "Scottish bakers let dough rise for two hours in May. Salt is needed."
    found = find_conflicting_details(claim, [source], ["A bakery in Genoa has four ovens."])

    assert found == expected


def test_a_version_is_no_count() -> None:
    """The last figures of a version before a name count nothing, although the source counts such things."""
    source = "Rye 1.11.0 came before rye 1.12.0. There are two ovens."

    assert find_conflicting_details("1.11.0 Ovens", [source]) == ()
    assert find_conflicting_details("There are 11 ovens", [source]) == ("11 oven",)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The van makes the difference of 1,530 loans.", ()),
        ("Both figures together are 43,690.", ()),
        ("The share rose by 20.3 points.", ()),
        ("The share is almost 45 %.", ()),
        ("The share grew by 82.5 %.", ()),
        ("The share grew 1.83 times.", ()),
        ("The table has 93.2 % of the reported loans.", ()),
        ("The share grew by 83 %.", ("83",)),
        ("The difference is 1,540 loans.", ("1540",)),
        ("It was so since 2019.", ("2019",)),
    ],
)
def test_computed_and_rounded_figures_are_no_conflict(claim: str, expected: tuple[str, ...]) -> None:
    """Sums, differences, exact rates and rounded numbers follow from the source; vague rates and dates do not."""
    source = "Reported: 22,610 loans. Table: 21,080 loans. The share was 24.6 % and is 44.9 %. Known since 2023, for 4."

    assert find_conflicting_details(claim, [source]) == expected


def test_sources_are_compared_together() -> None:
    """Each detail may be in another of the sources, and the largest count of a thing is that of all."""
    sources = ["Weir Lane has 3 ovens since May 2024.", "Genoa has 9 ovens."]

    assert find_conflicting_details("In May Genoa and Weir Lane had 9 ovens.", sources) == ()
    assert find_conflicting_details("In June Genoa had 12 ovens.", sources) == ("12 oven", "June")


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It took 1,234.56 GB.", "Der Speicherbedarf betrug 1.234,56 GB auf der Anlage."),
        ("It took 1,234.56 GB.", "L'espace occupé était de 1 234,56 Go sur le site."),
        ("The city has 1,234,567 inhabitants.", "Die Stadt hat 1\u00a0234\u00a0567 Einwohner und ist sehr alt."),
        ("Backups are kept for 30 days.", "备份在成都数据中心保存30天，然后删除。"),
        ("The plant makes 120,000 units.", "工厂每年生产12万件产品。"),
        ("It is kept in Kazan until March.", "Она хранится в Казани до марта."),
        ("The board has 12 members from Munich.", "Der Beirat hat zwölf Mitglieder und kommt aus München."),
    ],
)
def test_details_of_another_language_are_found(claim: str, source: str) -> None:
    """Numbers are read as their language writes them, and names and months of another language are not missed."""
    assert find_unsupported_details(claim, source) == ()


def test_another_number_is_missed_in_any_language() -> None:
    """A number that the source does not state is no matter of spelling."""
    assert find_unsupported_details("It took 1,334.56 GB.", "Der Speicherbedarf betrug 1.234,56 GB auf der Anlage.")
    assert find_unsupported_details("Backups are kept for 40 days.", "备份在成都数据中心保存30天，然后删除。") == (
        "40",
    )


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The town has 1,234,567 inhabitants.", "Die Stadt hat nach der letzten Zählung 1.234.567 Einwohner."),
        ("Die Stadt hat nach der letzten Zählung 1.234.567 Einwohner.", "The town has 1,234,567 inhabitants."),
        ("The village has 1,234 inhabitants.", "Le village a maintenant 1 234 habitants dans les deux vallées."),
        ("Le village a 1 234 habitants dans les deux vallées.", "The village has 1,234 inhabitants."),
        ("The house costs 1,250,000 francs.", "Das Haus kostet nach der Schätzung 1'250'000 Franken."),
        ("It has 1,234.5 hectares.", "تبلغ مساحة المزرعة الكبيرة ١٬٢٣٤٫٥ هكتار."),
    ],
)
def test_marks_of_thousands_of_other_languages_are_read(claim: str, source: str) -> None:
    """A number is the same whatever marks a language groups its digits by."""
    assert find_missing_numbers(claim, source) == frozenset()
    assert find_conflicting_details(claim, [source]) == ()


def test_an_address_is_no_number() -> None:
    """Groups of three digits do not make a number of an address, and a wrong address is a conflict."""
    assert find_conflicting_details("It listens on 192.168.100.200.", ["It listens on 192.168.100.201."]) != ()
