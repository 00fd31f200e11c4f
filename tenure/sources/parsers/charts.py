"""Read the titles and the cached data of charts in Office documents, whatever kind of plot they have."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from lxml.etree import _Element

_EPOCH: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - a day without a time zone
"""Day 0 of the dates in spreadsheets and charts."""
_PLOT: Final = "{*}chart/{*}plotArea/*"


def list_titles(chart: _Element) -> list[str]:
    """Return the title of a chart and those of its axes."""
    titles = ("".join(text.text or "" for text in title.iter("{*}t")) for title in chart.iter("{*}title"))
    return [title for title in titles if title.strip()]


def list_plots(chart: _Element) -> Iterator[list[list[str]]]:
    """Yield the data of each plot of a chart as rows: the names of its series, then one row per category or point."""
    for plot in chart.iterfind(_PLOT):
        if series := plot.findall("{*}ser"):
            yield list(_list_rows(series))


def _list_rows(series: Sequence[_Element]) -> Iterator[list[str]]:
    yield ["", *(next((name.text or "" for name in line.iterfind("{*}tx//{*}v")), "") for line in series)]
    labels = [_list_points(line, ("{*}cat", "{*}xVal")) for line in series]
    values = [_list_points(line, ("{*}val", "{*}yVal")) for line in series]
    for index in sorted({index for points in (*labels, *values) for index in points}):
        label = next((points[index] for points in labels if index in points), "")
        yield [label, *(points.get(index, "") for points in values)]


def _list_points(series: _Element, names: Sequence[str]) -> dict[int, str]:
    """Return the cached values of a series by their index; of categories of several levels, those of the first."""
    for data in (element for name in names for element in series.iterfind(name)):
        has_dates = any("y" in (code.text or "").lower() for code in data.iter("{*}formatCode"))
        level = next(data.iter("{*}lvl"), data)
        return {
            int(point.get("idx", "0")): _format_value(point.findtext("{*}v") or "", is_date=has_dates)
            for point in level.iter("{*}pt")
        }
    return {}


def _format_value(text: str, *, is_date: bool) -> str:
    try:
        value = float(text)
        return (_EPOCH + timedelta(days=value)).date().isoformat() if is_date else f"{value:.12g}"
    except (ValueError, OverflowError):
        return text
