"""PDF files for tests: lines of text written byte by byte, and typeset pages."""

from collections.abc import Sequence

import typst

_ENCRYPTION = "<< /Filter /Standard /V 1 /R 2 /P -44 /O <{o}> /U <{u}> >>".format(o="ab" * 32, u="cd" * 32)


def make_pdf(
    pages: Sequence[Sequence[str]],
    info: str = "",
    outline: Sequence[str] = (),
    encrypted: bool = False,
) -> bytes:
    """Return a PDF with one line of Helvetica text per string; `info` is the inside of its Info dictionary."""
    objects = ["", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"]
    kids = []
    for page in pages:
        stream = _stream(page)
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects[0] = "<< /Type /Catalog /Pages 2 0 R" + _add_outline(objects, outline) + " >>"
    trailer = ""
    if info:
        objects.append(f"<< {info} >>")
        trailer += f" /Info {len(objects)} 0 R"
    if encrypted:
        objects.append(_ENCRYPTION)
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<00> <00>]"
    return _file(objects, trailer)


def _stream(lines: Sequence[str]) -> str:
    shown = "\n".join(f"({line.replace('(', chr(92) + '(').replace(')', chr(92) + ')')}) Tj T*" for line in lines)
    return f"BT /F1 11 Tf 14 TL 50 740 Td\n{shown}\nET" if lines else ""


def _add_outline(objects: list[str], titles: Sequence[str]) -> str:
    if not titles:
        return ""
    root = len(objects) + 1
    first, last = root + 1, root + len(titles)
    objects.append(f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R /Count {len(titles)} >>")
    for n, title in enumerate(titles, first):
        links = (f" /Next {n + 1} 0 R" if n < last else "") + (f" /Prev {n - 1} 0 R" if n > first else "")
        objects.append(f"<< /Title ({title}) /Parent {root} 0 R{links} >>")
    return f" /Outlines {root} 0 R"


def _file(objects: Sequence[str], trailer: str) -> bytes:
    body = b"%PDF-1.4\n"
    offsets = []
    for n, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{n} 0 obj\n{content}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    foot = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R{trailer} >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + (head + foot).encode()


SENTENCES = [
    "The survey of the northern apiaries lasted three summers and counted every colony twice a week.",
    "A second survey followed in the south, where the heather flowers later and the winters are milder.",
    "Both were paid for by the county, whose report had asked for figures instead of opinions.",
    "The weather of the second summer was poor, and four of the stations were closed for a month.",
]


def typeset(body: str, settings: str = "") -> bytes:
    """Return a PDF of typst markup on small pages with 10 points of type."""
    source = f'#set page("a5", margin: 1.5cm)\n#set text(10pt, hyphenate: false)\n{settings}\n{body}'
    pdf: bytes = typst.compile(source.encode(), format="pdf")
    return pdf
