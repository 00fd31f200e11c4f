"""Tests of the LaTeX parser."""

import pytest

from tenure.sources.parsers.formats.latex import parse_latex
from tests.architecture.text_functions import TextFunction

PAPER = r"""\documentclass{article}
\newcommand{\sys}{Tenure}
\title[Short]{On \emph{durable} agents}
\author{Ann Lee \and Bo Ek}
\date{2024-05-03}
\begin{document}
\maketitle
\begin{abstract}
We present \sys{}, which survives crashes~\cite[p.~2]{lee2020,ek21} (see \cite{x}).
\end{abstract}
\section{Introduction}\label{sec:intro}
Runs cost \$5 and 10\% more% a comment
. ``Durable'' is na\"ive --- see Section~\ref{sec:intro}\footnote{A note.}.\index{runs}

Second $E = mc^2$ paragraph, \textbf{bold} and \href{https://a.example}{a link}.
\begin{equation}
  a &= b
\end{equation}
\subsection*{Items}
\begin{itemize}
  \item First \textbf{item}.
  \begin{enumerate}
    \item inner
  \end{enumerate}
  \item[Rye] second
\end{itemize}
\begin{table}
\caption{Costs of items}
\begin{tabular}{l|r}
\toprule Item & Price \\ \cmidrule(lr){1-2}
Rye & 2 \\
\multicolumn{2}{c}{Both} \\
\bottomrule
\end{tabular}
\end{table}
\begin{verbatim}
if x:
    y()
\end{verbatim}
\begin{theorem}
It halts.
\end{theorem}
\input{../../etc/passwd}
\begin{tikzpicture}\draw (0,0);\end{tikzpicture}
\begin{thebibliography}{9}
\bibitem{lee2020} Lee, A. On things. 2020.
\end{thebibliography}
\end{document}
Not a part.
"""


def test_a_paper_is_read_in_its_structure() -> None:
    """Headings, lists, tables, code and formulas are blocks; citations, labels and drawings are left out."""
    document = parse_latex(PAPER)

    assert (document.title, document.author, document.published) == (
        "On durable agents",
        "Ann Lee, Bo Ek",
        "2024-05-03",
    )
    assert document.text == (
        "# Abstract\n\nWe present Tenure, which survives crashes.\n\n# Introduction\n\n"
        "Runs cost $5 and 10% more. “Durable” is naïve — see Section (A note.).\n\n"
        "Second $E = mc^2$ paragraph, bold and a link.\n\n      a &= b\n\n## Items\n\n"
        "- First item.\n  1. inner\n- Rye: second\n\nCosts of items\n\n| Item | Price |\n| Rye | 2 |\n| Both |\n\n"
        "    if x:\n        y()\n\nTheorem:\n\nIt halts.\n\n- Lee, A. On things. 2020."
    )


def test_a_part_of_a_document_is_read() -> None:
    """A file that another one includes has no preamble, and a text without macros is plain text."""
    assert parse_latex("\\chapter{Bees}\n\nThey dance.\n").text == "# Bees\n\nThey dance."
    assert parse_latex("\\chapter{Bees}\n\nThey dance.\n").title == "Bees"
    assert parse_latex("Bees\n====\n\nThey dance.\n").text == "# Bees\n\nThey dance."


@pytest.mark.parametrize("source", ["\\begin{itemize}\\item a", "\\section{Open", "$x", "}\\end{b} words", "\\"])
def test_damaged_sources_keep_their_words(source: str) -> None:
    """Environments, groups and formulas that do not end, or that end without a beginning, raise no error."""
    assert parse_latex(f"Before \\emph{{it}}. {source}").text.startswith("Before it.")


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "$a$ ",
            "$",
            "\\section{a}\n",
            "\\textbf{a} ",
            "\\item ",
            "\\cite{a}",
            "% c\n",
            "\\verb|a| ",
            "\\foo[",
            "a & b \\\\ ",
        ),
        *(
            "\\begin{itemize}\\item a\\end{itemize}\n",
            "\\newcommand{\\a}{b}",
            "\\title",
            "\\def\\a{\\a}",
            "\\cmidrule(",
            "{",
        ),
        *(
            "\\begin{a}",
            "\\begin{tabular}{l}a & b\\\\\\end{tabular}",
            "(",
            "\\footnote{a}",
            "\n\n",
            "\\begin{verbatim}",
        ),
    ],
)
def test_time_grows_with_length(piece: str) -> None:
    """A source of one repeated piece is read in proportional time."""
    assert not TextFunction(parse_latex).is_slow(f"\\emph{{a}} {piece}" if piece == "(" else piece)
