"use strict";
// Sorts the tables of a report by a column: up, down, and as they were. Reports are read without it as well.

const parts = new Intl.NumberFormat(document.documentElement.lang).formatToParts(1234567.8);
const [group, decimal] = ["group", "decimal"].map((type) => parts.find((part) => part.type === type)?.value);

// The statement of a cell, without its citation marks; a number if it begins with one.
function readCell(row, column) {
  const cell = row.cells[column];
  const text = (cell.querySelector(".claim") ?? cell).textContent.trim();
  const number = /^[^\d\s−-]{0,3}\s?([-−]?\d[\d.,'’\u00a0\u202f]*)/.exec(text);
  const value = Number(number?.[1].replaceAll(group, "").replace(decimal, ".").replace("−", "-").replace(/[.,]$/, ""));
  return [text, value];
}

function compareCells([text, value], [otherText, otherValue]) {
  return Number.isNaN(value - otherValue) ? text.localeCompare(otherText) : value - otherValue;
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells].filter((cell) => cell.tagName === "TH");
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort ?? "none"];
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = next;
      const sorted = next === "none" ? rows : rows.toSorted(
        (a, b) => compareCells(readCell(a, head.cellIndex), readCell(b, head.cellIndex)) * (next === "ascending" ? 1 : -1),
      );
      body.append(...sorted);
    });
  }
}

for (const table of document.querySelectorAll("table.matrix")) if (table.tHead && table.tBodies[0].rows.length > 1) makeSortable(table);
