"""The messages of protocol v1: the one place where wire names meet code names.

Every class is one JSON body. Attributes carry the English name, aliases the Turkish wire
name, and the types carry the protocol's ranges, so that parsing is checking::

    task = Task.model_validate_json(body)      # pydantic.ValidationError if out of range
    body = task.model_dump_json(by_alias=True)

Unknown fields are ignored in both directions, as the protocol demands.
"""

import secrets
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from worker_client.contract.addresses import RelativePath

ONE_DAY_S = 86_400
MAX_TOKENS_PER_TASK = 2**32
MAX_SNAPSHOT_BYTES = 64 * 2**30
MAX_CANDIDATES = 16
MAX_RAW_BYTES = 2**24  # of text in one task
MAX_TOKENIZER_BYTES = 2**26
MAX_LANGUAGES = 200
WORST_LOSS = 1e6  # told also for a loss that is no finite number

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
WorkerName = Annotated[str, Field(pattern=r"^[a-z0-9_-]{3,32}$")]
RequestId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
LeaseId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
# At least 192 bits, whether drawn as base64url or as hex.
WorkerToken = Annotated[str, Field(pattern=r"^mwk_[A-Za-z0-9_-]{32,128}$")]
Sequence = Annotated[int, Field(ge=0, le=2**53 - 1)]
LeaseKey = Annotated[str, Field(pattern=r"^[\x21-\x7e]{16,256}$")]
ChunkBytes = Annotated[int, Field(ge=64 * 1024, le=8 * 2**20)]
LeaseSeconds = Annotated[int, Field(ge=5, le=30 * ONE_DAY_S)]
RoundNumber = Annotated[int, Field(ge=1, le=10**6 + 1)]
Rounds = Annotated[int, Field(ge=1, le=10**6)]
ShardIndex = Annotated[int, Field(ge=0, lt=10**6)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Loss = Annotated[float, Field(ge=0, le=WORST_LOSS)]
ShortText = Annotated[str, Field(max_length=300)]
# A NUL is text in JSON, but not in PostgreSQL.
StorableText = Annotated[str, Field(pattern=r"^[^\x00]*$")]
LongText = Annotated[str, Field(max_length=4000)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199}$")]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]


class Job(StrEnum):
    TRAIN = "egit"
    EVALUATE = "olc"
    VERIFY = "dogrula"
    PREPROCESS = "on_isle"


class Mode(StrEnum):
    CPT = "cpt"
    SFT = "sft"


class RunState(StrEnum):
    READY = "hazir"
    OPEN = "acik"
    MERGING = "birlestiriliyor"
    PAUSED = "duraklatildi"
    FINISHED = "bitti"


class ResultFate(StrEnum):
    WAITING = "bekliyor"
    MERGED = "birlesti"
    SCREENED = "elendi"
    UNVERIFIED = "denetlenemedi"
    REFUSED = "ret"
    USED = "kullanildi"  # a job's answer other than training: used, never merged


class Standing(StrEnum):
    APPROVED = "onayli"
    PENDING = "bekliyor"


RAW_ENCODING = "ham"
# A result as a coordinator keeps it: float32 in manifest order and nothing else.
VECTOR_ENCODING = "vektor"
REFERENCE_MERGE = "referans"


class Message(BaseModel):
    model_config = ConfigDict(
        frozen=True, strict=True, extra="ignore", populate_by_name=True, allow_inf_nan=False
    )

    def to_wire(self) -> dict:
        """The body as JSON-ready values under wire names; fields that are None are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class FileRef(Message):
    path: RelativePath = Field(alias="yol")
    sha256: Sha256
    size: Annotated[int, Field(ge=1, le=MAX_SNAPSHOT_BYTES)] = Field(alias="boyut")
    chunk_bytes: ChunkBytes = Field(alias="parca_boyut", default=2**20)


class DeltaRef(FileRef):
    """A compressed update that leads from snapshot ``round`` to the task's."""

    round: RoundNumber = Field(alias="tur")
    encoding: ShortText = Field(alias="kodlama")


class Registration(Message):
    """``POST /kayit``: own a pseudonym. ``listed`` None leaves the leaderboard choice as it is."""

    worker: WorkerName = Field(alias="isci")
    token: WorkerToken = Field(alias="belirtec")
    listed: bool | None = Field(alias="liste", default=None)

    @staticmethod
    def draw_token() -> str:
        return f"mwk_{secrets.token_urlsafe(32)}"


class RegistrationAnswer(Message):
    standing: Standing = Field(alias="durum")


class LeaseRequest(Message):
    worker: WorkerName = Field(alias="isci")
    request_id: RequestId = Field(alias="istek")
    sequence: Sequence | None = Field(alias="sira", default=None)
    encodings: list[ShortText] = Field(alias="kodlama", default=[RAW_ENCODING], max_length=20)
    jobs: list[ShortText] = Field(alias="isler", default=[Job.TRAIN.value], max_length=20)
    holds: RoundNumber | None = Field(alias="elde", default=None)
    device: dict[StorableText, StorableText | int | float | bool | None] = Field(
        alias="cihaz", default={}
    )

    @staticmethod
    def draw_request_id() -> str:
        return secrets.token_hex(16)


class TrainingFields(Message):
    """What a training task consists of: who has these fields can train it, or train it again."""

    round: RoundNumber = Field(alias="tur")
    rounds: Rounds = Field(alias="tur_sayisi")
    inner_steps: Annotated[int, Field(ge=1, le=10_000)] = Field(alias="ic_adim")
    batch_size: Annotated[int, Field(ge=1, le=1024)] = Field(alias="bs")
    seq_len: Annotated[int, Field(ge=8, le=8192)] = Field(alias="seq")
    lr: Annotated[float, Field(gt=0, le=1)]
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] = Field(alias="tohum")
    shard: Annotated[int, Field(ge=0)] = Field(alias="parca")
    shards: Annotated[int, Field(ge=1, le=10**6)] = Field(alias="n_parca")
    mode: Mode = Field(alias="mod")
    format: Identifier = Field(alias="bicim")
    recipe: Identifier = Field(alias="recete", default="v1")
    base_model: Identifier | None = Field(alias="taban_model", default=None)
    tokenizer_sha256: Sha256 | None = Field(alias="belirtec_sha256", default=None)
    encoding: ShortText = Field(alias="kodlama", default=RAW_ENCODING)
    snapshot_file: FileRef | None = Field(alias="adaptor", default=None)
    data: FileRef | None = Field(alias="veri", default=None)

    @property
    def snapshot(self) -> FileRef:
        """Where training starts; every job has one but ``on_isle``."""
        assert self.snapshot_file is not None, "a task without is refused when it is parsed"
        return self.snapshot_file

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if self.round > self.rounds:
            raise ValueError("tur is beyond tur_sayisi")
        if self.shard >= self.shards:
            raise ValueError("parca is not below n_parca")
        if self.batch_size * self.seq_len * self.inner_steps > MAX_TOKENS_PER_TASK:
            raise ValueError("bs * seq * ic_adim is above 2^32")
        return self


class Candidate(Message):
    """What ``olc`` scores: a snapshot, or ``result`` that was trained from it, on ``data`` or
    else the task's. ``shard``: only the rows that training that shard takes in the task's round."""

    snapshot: FileRef = Field(alias="adaptor")
    result: FileRef | None = Field(alias="sonuc", default=None)
    encoding: ShortText = Field(alias="kodlama", default=RAW_ENCODING)
    data: FileRef | None = Field(alias="veri", default=None)
    shard: ShardIndex | None = Field(alias="parca", default=None)


Candidates = Annotated[list[Candidate], Field(min_length=1, max_length=MAX_CANDIDATES)]


class Task(TrainingFields):
    """A lease: everything a worker needs to do one job. ``target`` is what ``dogrula`` repeats,
    ``candidates`` what ``olc`` scores; ``raw_text``, ``tokenizer``, ``cleaning`` (the rules' id)
    and the ``languages`` to keep (none: all) belong to ``on_isle``, whose ``shard`` of ``shards``
    is the chunk of text."""

    lease_id: LeaseId = Field(alias="gorev")
    lease_key: LeaseKey = Field(alias="anahtar")
    job: Job = Field(alias="is", default=Job.TRAIN)
    lease_seconds: LeaseSeconds = Field(alias="sure")
    deadline: AwareDatetime = Field(alias="son")
    target: TrainingFields | None = Field(alias="hedef", default=None)
    delta: DeltaRef | None = Field(alias="fark", default=None)
    candidates: (
        Annotated[list[Candidate], Field(min_length=1, max_length=MAX_CANDIDATES)] | None
    ) = Field(alias="aday", default=None)
    raw_text: FileRef | None = Field(alias="ham_metin", default=None)
    tokenizer: FileRef | None = Field(alias="belirtec", default=None)
    cleaning: Identifier | None = Field(alias="temizlik", default=None)
    languages: list[Language] | None = Field(alias="diller", default=None, max_length=MAX_LANGUAGES)

    @model_validator(mode="after")
    def _job_has_its_fields(self) -> Self:
        if (self.job == Job.VERIFY) != (self.target is not None):
            raise ValueError("hedef belongs to dogrula, and dogrula needs it")
        if (self.job == Job.EVALUATE) != (self.candidates is not None):
            raise ValueError("aday belongs to olc, and olc needs it")
        needed = (self.raw_text, self.tokenizer, self.cleaning)
        if any((self.job == Job.PREPROCESS) != (field is not None) for field in needed):
            raise ValueError("ham_metin, belirtec and temizlik belong to on_isle, which needs them")
        starts = (self.snapshot_file, self.training.snapshot_file)
        if self.job != Job.PREPROCESS and None in starts:
            raise ValueError("adaptor is missing, which every job but on_isle needs")
        return self

    @property
    def training(self) -> TrainingFields:
        """What is to be trained: of a check the task under check, else the task itself."""
        return self.target or self


class Evaluation(Message):
    """What ``olc`` answers: a mean loss for each candidate, in nats per token, and over how many
    tokens and UTF-8 bytes of the task's data; 0 bytes where the file does not tell."""

    losses: list[Loss] = Field(alias="kayip", min_length=1, max_length=MAX_CANDIDATES)
    tokens: Annotated[int, Field(ge=1, le=2**53 - 1)] = Field(alias="token")
    bytes: Count = Field(alias="bayt")
    seconds: Annotated[float, Field(ge=0, le=1e8)] | None = Field(alias="sure_s", default=None)
    device: StorableText = Field(alias="cihaz", default="", max_length=100)
    dtype: StorableText = Field(default="", max_length=40)
    version: StorableText = Field(alias="surum", default="", max_length=40)


class About(Message):
    """``GET /bilgi``: what this coordinator is."""

    protocol: int = Field(alias="protokol", ge=1)
    name: ShortText = Field(alias="ad")
    description: LongText = Field(alias="aciklama", default="")
    base_model: Identifier | None = Field(alias="taban_model", default=None)
    format: Identifier = Field(alias="bicim")
    tokenizer_sha256: Sha256 | None = Field(alias="belirtec_sha256", default=None)
    recipe: Identifier = Field(alias="recete", default="v1")
    mode: Mode = Field(alias="mod")
    round: RoundNumber = Field(alias="tur")
    rounds: Rounds = Field(alias="tur_sayisi")
    inner_steps: Annotated[int, Field(ge=1, le=10_000)] = Field(alias="ic_adim")
    seq_len: Annotated[int, Field(ge=8, le=8192)] = Field(alias="seq")
    shards: Annotated[int, Field(ge=1, le=10**6)] = Field(alias="n_parca")
    serves_data: bool = Field(alias="veri", default=False)
    open_to_all: bool = Field(alias="acik", default=True)
    encodings: list[ShortText] = Field(alias="kodlama", default=[RAW_ENCODING], max_length=20)
    jobs: list[ShortText] = Field(alias="isler", default=[Job.TRAIN.value], max_length=20)
    data_licence: ShortText = Field(alias="veri_lisansi", default="")
    data_source: LongText = Field(alias="veri_kaynagi", default="")
    contact: ShortText = Field(alias="iletisim", default="")
    min_worker_version: ShortText = Field(alias="surum_asgari", default="")
    merge_rule: ShortText = Field(alias="birlestirme", default="")


class TaskCounts(Message):
    free: Count = Field(alias="bos")
    leased: Count = Field(alias="kirada")
    done: Count = Field(alias="tamam")


class ResultCounts(Message):
    accepted: Count = Field(alias="kabul")
    refused: Count = Field(alias="ret")
    screened: Count = Field(alias="elenen")


class FinishedRound(Message):
    round: RoundNumber = Field(alias="tur")
    loss: float | None = Field(alias="kayip", default=None)
    accepted: Count = Field(alias="kabul")
    screened: Count = Field(alias="elenen")
    seconds: float = Field(alias="sure_s")
    sha256: Sha256
    rule: ShortText | None = Field(alias="kural", default=None)
    fallback: ShortText | None = Field(alias="kural_nedeni", default=None)
    lora_bias: float | None = Field(alias="lora_sapma", default=None)


class HeldOutLoss(Message):
    """Loss of snapshot ``number`` on held-out text of ``language``, and bits per UTF-8 byte."""

    number: RoundNumber = Field(alias="surum")
    language: ShortText = Field(alias="dil")
    loss: float = Field(alias="kayip")
    bits_per_byte: float = Field(alias="bit_bayt")


class ChunkCounts(Message):
    """How many of a run's chunks of raw text are made into rows, while that goes on."""

    total: Annotated[Count, Field(ge=1)] = Field(alias="toplam")
    done: Count = Field(alias="tamam")


class Status(Message):
    """``GET /durum``: public live state."""

    state: RunState = Field(alias="durum")
    round: RoundNumber = Field(alias="tur")
    rounds: Rounds = Field(alias="tur_sayisi")
    workers: Count = Field(alias="isci_sayisi")
    tasks: TaskCounts = Field(alias="gorev")
    results: ResultCounts = Field(alias="sonuc")
    history: list[FinishedRound] = Field(alias="gecmis", default=[])
    held_out: list[HeldOutLoss] = Field(alias="olcum", default=[])
    preparation: ChunkCounts | None = Field(alias="hazirlik", default=None)


class Progress(Message):
    """``POST /gorev/{id}/nabiz``: how far a worker is; ``digest`` commits to the result."""

    lease_key: LeaseKey = Field(alias="anahtar")
    step: Annotated[int, Field(ge=0, le=10_000)] = Field(alias="adim", default=0)
    loss: Loss | None = Field(alias="kayip", default=None)
    digest: Sha256 | None = Field(alias="ozet", default=None)


class ProgressAnswer(Message):
    go_on: bool = Field(alias="devam")
    lease_seconds: Annotated[int, Field(ge=0, le=30 * ONE_DAY_S)] | None = Field(
        alias="sure", default=None
    )
    deadline: AwareDatetime | None = Field(alias="son", default=None)


class Announcement(Message):
    """``PUT /sonuc``: the size and digest of what will be uploaded in chunks."""

    size: Annotated[int, Field(ge=1, le=MAX_SNAPSHOT_BYTES)] = Field(alias="boyut")
    sha256: Sha256


class UploadState(Message):
    offset: Annotated[int, Field(ge=0, le=MAX_SNAPSHOT_BYTES)] = Field(alias="ofset")
    chunk_bytes: ChunkBytes = Field(alias="parca_boyut")


class Verdict(Message):
    accepted: bool = Field(alias="kabul")
    lease_id: LeaseId = Field(alias="gorev")
    round: RoundNumber = Field(alias="tur")
    sha256: Sha256


class Fate(Message):
    """``GET /sonuc``: what became of a delivered result."""

    fate: ResultFate = Field(alias="durum")
    code: ShortText | None = Field(alias="kod", default=None)
    weight: float | None = Field(alias="agirlik", default=None)


class Receipt(Message):
    """What became of one file that a worker delivered."""

    lease_id: LeaseId = Field(alias="gorev")
    job: ShortText = Field(alias="is", default=Job.TRAIN.value)
    round: RoundNumber = Field(alias="tur")
    shard: ShardIndex = Field(alias="parca")
    sha256: Sha256
    size: Count = Field(alias="boyut")
    fate: ResultFate = Field(alias="durum")
    code: ShortText | None = Field(alias="kod", default=None)
    weight: float | None = Field(alias="agirlik", default=None)
    tokens: Count | None = Field(alias="token", default=None)
    loss: Loss | None = Field(alias="kayip", default=None)
    received_at: AwareDatetime = Field(alias="zaman")


class Receipts(Message):
    """``GET /makbuz``: a worker's own receipts, newest first; ``before`` asks for the next page,
    ``sequence`` is the highest that its lease requests had."""

    worker: WorkerName = Field(alias="isci")
    sequence: Sequence | None = Field(alias="sira", default=None)
    receipts: list[Receipt] = Field(alias="makbuz", max_length=100)
    before: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = Field(alias="once", default=None)


class Problem(Message):
    """An ``application/problem+json`` body (RFC 9457) with this protocol's two members."""

    type: ShortText = "about:blank"
    title: ShortText = ""
    status: int = 0
    detail: LongText = ""
    code: ShortText = Field(alias="kod", default="")
    retry: bool | None = Field(alias="tekrar", default=None)


def explain(error: ValidationError) -> str:
    """One line a person can act on: which wire field is wrong and why."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, f['loc'])) or 'body'}: {f['msg']}" for f in faults[:5])
