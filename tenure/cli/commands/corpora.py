"""Commands of the group `corpus`: fill, list, measure, search, watch and drop corpora."""

from collections.abc import Coroutine, Sequence
from datetime import timedelta

from tenure.algorithms.control.run_notes import describe_transcription
from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.durations import write_duration
from tenure.cli.command import CommandHome
from tenure.cli.delivery import UNPROVED
from tenure.cli.follow import follow_workflow
from tenure.cli.output import Output, print_rows
from tenure.cli.terminal import print_line, print_note
from tenure.contracts.evidence.corpora import CorpusReply, IngestReport, IngestRequest, StoreStats
from tenure.contracts.knowledge.graph import CO_OCCURRENCE, EntityRelation, RelatedReply
from tenure.installation import PROGRAM
from tenure.runs import corpora
from tenure.runs.formatting import truncate_line
from tenure.runs.messages import EntityBody, IngestBody, SearchBody
from tenure.runs.paths import plan_ingestion
from tenure.runs.run_ids import CorpusName
from tenure.runs.service import Service

_MAX_SKIPS_SHOWN = 10
_MAX_SENTENCE_CHARS = 160


def add(home: CommandHome, body: IngestBody, every: float | None, output: Output) -> Coroutine[None, None, None]:
    """Read documents into a corpus, also again at an interval.

    Raises:
        InvalidRequest: a path does not exist, or the interval is too short.
    """
    request = plan_ingestion(body.paths, body.corpus, include_secrets=body.include_secrets)
    interval = None if every is None else corpora.check_interval(every)
    return _add(home.open(), request, interval, output)


async def _add(service: Service, request: IngestRequest, every: timedelta | None, output: Output) -> None:
    """Follow an ingestion, print its report, and schedule it if that is wanted."""
    report = await follow_workflow(service, await corpora.start_ingestion(service, request), output.verbosity)
    if not output.print_json(report):
        _print_report(report)
    if every is not None:
        await corpora.watch_corpus(service, request, every)
        interval = write_duration(every.total_seconds())
        print_note(f"re-read every {interval}; `{PROGRAM} corpus unwatch {request.corpus}` stops it")


async def show(service: Service, output: Output) -> None:
    """Print the corpora."""
    _print_corpora(await corpora.ask_corpora(service, "list"), output)


async def measure(service: Service, corpus: str | None, output: Output) -> None:
    """Print the figures of one corpus or all corpora, and of the knowledge base."""
    _print_corpora(await corpora.ask_corpora(service, "stats", corpus), output)


async def drop(service: Service, corpus: CorpusName, output: Output) -> None:
    """Drop a corpus."""
    dropped = await corpora.drop_corpus(service, corpus)
    for note in dropped.notes:
        print_note(note)
    output.print_note(dropped.reply, f"corpus {corpus} dropped")


async def search(service: Service, body: SearchBody, output: Output) -> int:
    """Print the passages that match words, best first."""
    passages = (await service.search(body)).passages
    if not output.print_json(passages):
        for number, passage in enumerate(passages, 1):
            print_line(f"[{number}] {passage.title}, {passage.uri}\n{passage.text}\n")
    if not passages:
        print_note("no passage was found")
    return 0 if passages else UNPROVED


async def show_graph(service: Service, body: EntityBody, output: Output) -> None:
    """Print the relations of an entity."""
    reply = await corpora.read_relations(service, body)
    if not reply.relations:
        similar = f"; known are {', '.join(reply.similar_entities)}" if reply.similar_entities else ""
        output.print_note(reply, f"the graph of {body.corpus} has no relation of {body.entity!r}{similar}")
    elif not output.print_json(reply):
        _print_relations(reply)


def _print_relations(reply: RelatedReply) -> None:
    """Print relations, each with a supporting sentence."""
    kind = f" ({reply.kind})" if reply.kind else ""
    print_line(f"{reply.entity}{kind}: in {format_count(reply.passages, 'passage')}")
    for relation in reply.relations:
        where = f"{format_count(relation.count, 'sentence')}, {format_count(relation.passages, 'passage')}"
        print_line(f"\n{_describe_relation(relation)}  [{where}]")
        for proof in relation.evidence[:1]:
            print_line(f"    “{truncate_line(proof.sentence, _MAX_SENTENCE_CHARS)}” {proof.title}")


def _describe_relation(relation: EntityRelation) -> str:
    if relation.predicate == CO_OCCURRENCE:
        return f"beside {relation.object}"
    return f"{relation.subject} {relation.predicate} {relation.object}"


async def show_watched(service: Service, output: Output) -> None:
    """Print the watched corpora."""
    schedules = await corpora.list_watched_corpora(service)
    watched = [
        {
            "corpus": schedule.corpus,
            "every_seconds": schedule.every.total_seconds(),
            "paths": list(schedule.paths),
            "paused": schedule.paused,
            "last": schedule.last.isoformat() if schedule.last else None,
        }
        for schedule in schedules
    ]
    if not output.print_json({"watched": watched}):
        print_rows(
            ("corpus", "every", "last", "paths"),
            (
                (
                    schedule.corpus,
                    write_duration(schedule.every.total_seconds()) + (", paused" if schedule.paused else ""),
                    schedule.last.isoformat()[:19] if schedule.last else "not yet",
                    ", ".join(schedule.paths),
                )
                for schedule in schedules
            ),
        )


async def unwatch(service: Service, corpus: CorpusName, output: Output) -> None:
    """End the watching of a corpus."""
    await corpora.unwatch_corpus(service, corpus)
    output.print_note({"unwatched": corpus}, f"corpus {corpus} is no longer watched")


def _print_report(report: IngestReport) -> None:
    print_line(
        f"corpus {report.corpus}: {format_count(report.files, 'file')} ({report.added} new, {report.changed} changed, "
        f"{report.unchanged} unchanged, {report.removed} removed, {report.skipped_total} skipped), "
        f"{format_count(report.chunks, 'chunk')} written in {report.seconds:.1f} s"
    )
    for note in describe_transcription(report):
        print_note(note)
    for skip in report.skipped[:_MAX_SKIPS_SHOWN]:
        print_note(f"skipped {skip.path}: {skip.reason}")
    if report.skipped_total > _MAX_SKIPS_SHOWN:
        print_note(f"and {report.skipped_total - _MAX_SKIPS_SHOWN} more")


def _print_corpora(reply: CorpusReply, output: Output) -> None:
    """Print corpora, and the figures of the knowledge base if there are any."""
    if output.print_json(reply):
        return
    numbers = ("documents", "chunks", "embedded", "characters")
    print_rows(
        ("corpus", *numbers, "embedding model", "updated"),
        (
            (
                *(corpus.corpus, f"{corpus.sources:,}", f"{corpus.chunks:,}", f"{corpus.embedded_share:.0%}"),
                *(f"{corpus.characters:,}", corpus.embedding_model, corpus.updated_at[:19]),
            )
            for corpus in reply.corpora
        ),
        numbers=numbers,
    )
    if reply.store:
        _print_store(reply.store)


def _print_store(store: StoreStats) -> None:
    """Print the tables of the knowledge base with their indexes, and its usage."""
    numbers = ("rows", "unindexed", "MB", "files", "versions")
    rows: list[Sequence[str]] = []
    for table in store.tables:
        size = f"{table.size / 1e6:,.1f}"
        rows.append((table.table, f"{table.rows:,}", "", size, f"{table.files:,}", f"{table.versions:,}"))
        for index in table.indexes:
            size = f"{index.size / 1e6:,.1f}"
            rows.append((f"  {index.name} ({index.family})", f"{index.rows:,}", f"{index.unindexed:,}", size, "", ""))
    print_line()
    print_rows(("table or index", *numbers), rows, numbers=numbers)
    for query in store.queries:
        print_line(f"{query.mode} searches: {query.count:,}, mean {query.mean_ms:.1f} ms, p95 {query.p95_ms:.1f} ms")
    if store.cache.rate is not None:
        total = store.cache.hits + store.cache.misses
        print_line(f"embedding cache: {store.cache.hits:,} of {total:,} vectors were known ({store.cache.rate:.0%})")
