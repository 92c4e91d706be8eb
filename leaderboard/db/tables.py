"""All tables in one place, so that their foreign keys resolve and migrations see every one."""

from leaderboard.db.accounts import (
    Account,
    Audit,
    Identity,
    Invitation,
    InvitationUse,
    Member,
    SecondFactor,
    TaskRole,
    Team,
    Throttle,
    Token,
    WebSession,
)
from leaderboard.db.base import Base
from leaderboard.db.entries import Entry, GroupedRun, GroupedTeam, RunGroup
from leaderboard.db.evaluations import Alignment, Edition, Evaluation, EvaluationMean, Statistic
from leaderboard.db.jobs import Job, Worker
from leaderboard.db.labelling import (
    AnswerLabel,
    LabellingRound,
    LabellingShare,
    LabellingTopic,
    WrittenNugget,
)
from leaderboard.db.news import Announcement, Mail, TaskChange
from leaderboard.db.pools import (
    Assessment,
    Assessor,
    Assignment,
    ClickLog,
    Pool,
    PoolTopic,
    SideBySide,
    SideBySidePair,
)
from leaderboard.db.qrels import Judgment, Qrels, QrelsRevision
from leaderboard.db.runs import (
    Answer,
    JudgeBoard,
    PartialUpload,
    RankingBlock,
    RankingIndex,
    Reproduction,
    Run,
    StoredObject,
    Upload,
    UploadBatch,
    UploadChunk,
)
from leaderboard.db.signing_keys import SigningKey
from leaderboard.db.site_version import SiteVersion
from leaderboard.db.snapshots import Snapshot
from leaderboard.db.suites import Suite, SuiteMember, SuiteRun, SuiteRunPart
from leaderboard.db.tasks import (
    Collection,
    DocumentBlock,
    FormerSlug,
    Phase,
    Task,
    TaskPicture,
    Topic,
    TopicSet,
)
from leaderboard.db.tokens import ApiToken, DeviceRequest, IdempotencyKey
from leaderboard.db.webhooks import Webhook, WebhookAttempt, WebhookDelivery
from leaderboard.db.words import RunWord, TeamWord, TopicWord

metadata = Base.metadata

__all__ = [
    "Account",
    "Alignment",
    "Announcement",
    "Answer",
    "AnswerLabel",
    "ApiToken",
    "Assessment",
    "Assessor",
    "Assignment",
    "Audit",
    "ClickLog",
    "Collection",
    "DeviceRequest",
    "DocumentBlock",
    "Edition",
    "Entry",
    "Evaluation",
    "EvaluationMean",
    "FormerSlug",
    "GroupedRun",
    "GroupedTeam",
    "IdempotencyKey",
    "Identity",
    "Invitation",
    "InvitationUse",
    "Job",
    "JudgeBoard",
    "Judgment",
    "LabellingRound",
    "LabellingShare",
    "LabellingTopic",
    "Mail",
    "Member",
    "PartialUpload",
    "Phase",
    "Pool",
    "PoolTopic",
    "Qrels",
    "QrelsRevision",
    "RankingBlock",
    "RankingIndex",
    "Reproduction",
    "Run",
    "RunGroup",
    "RunWord",
    "SecondFactor",
    "SideBySide",
    "SideBySidePair",
    "SigningKey",
    "SiteVersion",
    "Snapshot",
    "Statistic",
    "StoredObject",
    "Suite",
    "SuiteMember",
    "SuiteRun",
    "SuiteRunPart",
    "Task",
    "TaskChange",
    "TaskPicture",
    "TaskRole",
    "Team",
    "TeamWord",
    "Throttle",
    "Token",
    "Topic",
    "TopicSet",
    "TopicWord",
    "Upload",
    "UploadBatch",
    "UploadChunk",
    "WebSession",
    "Webhook",
    "WebhookAttempt",
    "WebhookDelivery",
    "Worker",
    "WrittenNugget",
    "metadata",
]
