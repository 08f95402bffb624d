"""Ask, tell, undo, result: studies in which people answer questions that are chosen for them."""

from coombs.storage import StudyExistsError, UnknownStudyError
from coombs.study.ask_tell import Answer, Progress, Question
from coombs.study.conduct import Conduct
from coombs.study.respondent import Respondent
from coombs.study.result import Result
from coombs.study.study import Settings, Study, create_study, delete_study, list_studies, load_study
from coombs.study.study_jsonl import import_study

__all__ = [
    "Answer",
    "Conduct",
    "Progress",
    "Question",
    "Respondent",
    "Result",
    "Settings",
    "Study",
    "StudyExistsError",
    "UnknownStudyError",
    "create_study",
    "delete_study",
    "import_study",
    "list_studies",
    "load_study",
]
