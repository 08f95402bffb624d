"""Ask, tell, undo, result: studies in which people answer questions that are chosen for them."""

from coombs.storage import StudyExistsError, UnknownStudyError
from coombs.study.item_changes import ItemChanges
from coombs.study.monitoring import MonitoredPerson, StudyMonitor
from coombs.study.person_fields import PersonField
from coombs.study.presentation import Presentation
from coombs.study.quality_flags import QualityFlags
from coombs.study.respondent import Respondent
from coombs.study.response_style import ResponseStyle
from coombs.study.result import Result
from coombs.study.retention import Retention, RetentionDone, apply_retention
from coombs.study.settings import Settings
from coombs.study.stored_check import Fault, StorageCheck, check_storage
from coombs.study.stored_studies import create_study, delete_study, list_studies, load_study
from coombs.study.study import Study
from coombs.study.study_items import ItemVersion
from coombs.study.study_jsonl import import_study
from coombs.study.study_records import Answer, Question, StudyProgress
from coombs.study.with_others import RankingWithOthers

Progress = StudyProgress
"""The former name."""

__all__ = [
    "Answer",
    "Fault",
    "ItemChanges",
    "ItemVersion",
    "StudyMonitor",
    "MonitoredPerson",
    "PersonField",
    "Presentation",
    "Progress",
    "QualityFlags",
    "Question",
    "RankingWithOthers",
    "Respondent",
    "ResponseStyle",
    "Result",
    "Retention",
    "RetentionDone",
    "Settings",
    "StorageCheck",
    "Study",
    "StudyExistsError",
    "StudyProgress",
    "UnknownStudyError",
    "apply_retention",
    "check_storage",
    "create_study",
    "delete_study",
    "import_study",
    "list_studies",
    "load_study",
]
