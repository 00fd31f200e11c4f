"""Show the model the pictures that the passages of a report contain or name, and add its readings to the dossier."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow

from workflows.research.report_phases.dossier import add_readings
from workflows.research.report_phases.report_context import ReportContext

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.control.note_messages import UNSEEN_PICTURES
    from tenure.contracts.research.pictures import PictureRef, PicturesRequest, ReadPicture, StorePicturesRequest
    from tenure.contracts.run.limits import MAX_PICTURES
    from tenure.roles.retrieval import picture_reader

MAX_NAMED = 3
"""Pictures that a note names."""


async def read_pictures(context: ReportContext) -> None:
    """Show the most relevant pictures to the model; those that it has not read are named in a note."""
    request, dossier = context.request, context.state.dossier
    if not request.limits.has_model or not dossier.passages:
        return
    wanted = PicturesRequest(question=request.question, passages=dossier.passages, limit=MAX_PICTURES)
    pictures = await context.clients.execute_activity(
        KnowledgeActivities.find_pictures, wanted, summary=request.question
    )
    if not pictures:
        return
    read = [] if context.parent.is_finishing else await _show(context, pictures)
    seen = [entry.picture for entry in read]
    unread = [picture for picture in pictures if picture not in seen]
    if unread:
        names = "; ".join(picture.name for picture in unread[:MAX_NAMED])
        more = f" (+{len(unread) - MAX_NAMED})" if len(unread) > MAX_NAMED else ""
        context.add_notes([UNSEEN_PICTURES.format(names=f"{names}{more}")])
    if read:
        stored = StorePicturesRequest(corpora=request.corpora, question=request.question, read=tuple(read))
        passages = await context.clients.execute_activity(
            KnowledgeActivities.store_picture_readings, stored, summary=f"{len(read)} pictures"
        )
        await add_readings(context, passages)


async def _show(context: ReportContext, pictures: Sequence[PictureRef]) -> list[ReadPicture]:
    """Return the pictures that the model sees; a model that does not see the first one shown is shown no other."""
    context.report_progress("write", "reading pictures", "retrieving")
    for number, picture in enumerate(pictures, 1):
        first = await _read(context, picture)
        if first.reading.kind != "unseen":
            others = await asyncio.gather(*(_read(context, other) for other in pictures[number:]))
            return [first, *(read for read in others if read.reading.kind != "unseen")]
        if first.reading.is_shown:
            break
    return []


async def _read(context: ReportContext, picture: PictureRef) -> ReadPicture:
    asked = picture_reader.PictureReaderInput(picture=picture)
    reading = await context.clients.models.ask(picture_reader.ROLE, asked, summary=picture.name)
    return ReadPicture(picture=picture, reading=reading)
