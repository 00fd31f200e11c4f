"""Read the comments and text boxes of workbooks in XLSX, which are no cells of a table."""

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from lxml.etree import _Element

from tenure.files.opening import open_file
from tenure.sources.document.normal_form import collapse_whitespace
from tenure.sources.document.zip_package import PACKAGE_ERRORS, parse_xml
from tenure.sources.tables.catalogue import CellText

SUFFIXES: Final = frozenset((".xlsx", ".xlsm"))
"""Formats that are read; in the others, comments and text boxes are binary records."""
_WORKBOOK: Final = "xl/workbook.xml"
_MAX_NOTES: Final = 1_000


class SheetNote(NamedTuple):
    """Comment or text box."""

    sheet: str
    """Name of its sheet."""
    kind: Literal["Comment", "Text box"]
    cell: CellText
    """The commented cell, or the one below the left upper corner of the box."""


def list_notes(path: Path) -> tuple[SheetNote, ...]:
    """Return the notes of a workbook, sheet by sheet; those of damaged sheets are left out."""
    if path.suffix.lower() not in SUFFIXES:
        return ()
    notes: list[SheetNote] = []
    try:
        with open_file(path) as opened, zipfile.ZipFile(opened.file) as package:
            parts = _read_relations(package, _WORKBOOK)
            for sheet in parse_xml(package.read(_WORKBOOK)).iterfind("{*}sheets/{*}sheet"):
                identifier = next((value for name, value in sheet.items() if name.endswith("}id")), "")
                for note in _list_sheet(package, parts[identifier][1]):
                    notes.append(SheetNote(sheet.get("name", ""), *note))
                    if len(notes) == _MAX_NOTES:
                        return tuple(notes)
    # The cells were read before, so that damage of these parts costs nothing else.
    except PACKAGE_ERRORS:
        pass
    return tuple(notes)


def _list_sheet(package: zipfile.ZipFile, part: str) -> Iterator[tuple[Literal["Comment", "Text box"], CellText]]:
    relations = list(_read_relations(package, part).values())
    # A threaded comment has a copy among the others, which advises to update the program.
    kinds = ("threadedComment",) if any(kind == "threadedComment" for kind, _ in relations) else ("comments",)
    for kind, target in relations:
        if kind in kinds:
            yield from (("Comment", cell) for cell in _list_comments(parse_xml(package.read(target))))
        elif kind == "drawing":
            yield from (("Text box", cell) for cell in _list_boxes(parse_xml(package.read(target))))


def _list_comments(root: _Element) -> Iterator[CellText]:
    for comment in root.iter("{*}comment", "{*}threadedComment"):
        letters = comment.get("ref", "").partition(":")[0]
        column = 0
        for letter in filter(str.isalpha, letters):
            column = 26 * column + ord(letter.upper()) - ord("A") + 1
        row = int("".join(filter(str.isdigit, letters)))
        if text := collapse_whitespace("".join(run.text or "" for run in comment.iter("{*}t", "{*}text") if run.text)):
            yield CellText(row, column, text)


def _list_boxes(root: _Element) -> Iterator[CellText]:
    for anchor in root.iterfind("{*}twoCellAnchor"):
        paragraphs = (
            "".join(run.text or "" for run in line.iter("{*}t")) for line in anchor.iterfind(".//{*}txBody/{*}p")
        )
        if text := collapse_whitespace(" ".join(paragraphs)):
            row, column = (int(anchor.findtext(f"{{*}}from/{{*}}{name}", "0")) + 1 for name in ("row", "col"))
            yield CellText(row, column, text)


def _read_relations(package: zipfile.ZipFile, part: str) -> Mapping[str, tuple[str, str]]:
    """Return the relations of a part by their ids: the last word of their kind, and the name of the related part."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in package.namelist():
        return {}
    return {
        relation.get("Id", ""): (
            relation.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/"),
        )
        for relation in parse_xml(package.read(relations))
    }
