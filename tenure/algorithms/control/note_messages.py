"""English messages of the notes, decisions and outcomes that a run writes for the readers of its report.

A run writes them with their values; a report in another language finds the message of a note by its fixed words
(`tenure/report/translation.py::translate_note`).
"""

from typing import Final

from tenure.contracts.run.budget import BUDGET_USED_UP as BUDGET_USED_UP

CORPUS_FILES: Final = "Files of corpus “{corpus}”: {files}."
CORPUS_CHANGES: Final = "Files of corpus “{corpus}”: {files} ({added} new, {changed} changed, {removed} removed)."
UNREADABLE_FILES: Final = "Files of “{corpus}” that are not readable: {number}."
TEXTLESS_FILES: Final = "Files of “{corpus}” without text: {number}."
UNREAD_PICTURES: Final = "Pictures of “{corpus}” that were not read: {number}."
TRANSCRIBED: Final = "Transcribed recordings of “{corpus}”: {minutes} minutes."
TRANSCRIBED_AT_A_PRICE: Final = "Transcribed recordings of “{corpus}”: {minutes} minutes for {cost} USD."
UNSEEN_PICTURES: Final = "Pictures that may matter and were not read by a model: {names}."
FILTERED: Final = "Only passages were read whose {condition}."
SEARCH_MODE: Final = "Searches used the mode `{mode}`, as requested."
QUERY: Final = "Query for “{shows}”: `{sql}`"
UNEXPRESSED: Final = "No query of the tables answers a part of the question: {part}."
MISSING_VECTORS: Final = (
    "Only {share} % of the passages had vectors when a search started. Passages found by keywords were embedded "
    "immediately; passages that only vectors would find may be missing."
)
NOT_TRANSLATED: Final = (
    "Nothing was translated into {language}: without a model a report is made of quotes, in the language of its "
    "sources."
)
UNUSED_PREFERENCES: Final = "Preferences known but not applied, since no model wrote this: {preferences}."
USED_PREFERENCES: Final = "Preferences given to the models that planned and wrote this: {preferences}."
COMPOSED_WITHOUT_MODEL: Final = "The report was composed without the model: {failure}."
EARLIER_DRAFT: Final = "The report keeps an earlier draft, since the edits of a review made it worse."
UNPLACED_EDITS: Final = "Edits of a review that named no sentence or no passage were not made."
SAME_REASONING: Final = "The line of reasoning is left out, since the sections say the same."
NO_REASONING: Final = "Reasoning ({name}) led to no line of thought, so the report has none."
FORKED: Final = "This run continues from cycle {cycle} of {run}, whose usage is not counted here."
ENDED_BY_CANCEL: Final = "Ended because a person cancelled the run."
ENDED_BY_FAILURE: Final = "Ended because a step failed permanently: {failure}"
ENDED_BY_PERSON: Final = "Ended because a person asked to finish."
ENDED_BY_TIME: Final = "Ended because the time of {number} s was used up."
ENDED_BY_BUDGET: Final = "Ended because the budget of {number} {unit} was used up."
MISSING: Final = "Missing: {missing}."
MISSING_SEARCHES: Final = "further searches"
MISSING_ANSWER: Final = "an answer"
MISSING_MODEL_ANSWER: Final = "an answer of the model"
MISSING_REVIEW: Final = "a review of the report"
FEEDBACK_RECEIVED: Final = "received"
FEEDBACK_UNREAD: Final = "No section considered it."
FEEDBACK_USED: Final = "Considered in {headings}."
FEEDBACK_SEARCHED: Final = "Searched for in {headings}; nothing new was found."
FEEDBACK_QUERIES: Final = "The research searched for {queries}."
FEEDBACK_LATE: Final = "It came too late to change the report."
UNSTATED_PART: Final = "No sentence of this report speaks of this part of the question: “{part}”."

MESSAGES: Final = tuple(value for name, value in dict(globals()).items() if name.isupper() and isinstance(value, str))
"""All messages."""
