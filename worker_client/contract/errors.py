"""The protocol's refusals: code, HTTP status, and whether the same request may succeed later."""

from enum import Enum
from http import HTTPStatus


class Refusal(Enum):
    """``REFUSAL.code`` travels as ``kod``, ``REFUSAL.retry`` as ``tekrar``."""

    # The request itself
    BAD_REQUEST = ("gecersiz_istek", 400, False)
    UNSUPPORTED_PROTOCOL = ("protokol_desteklenmiyor", 400, False)
    NOT_FOUND = ("yok", 404, False)
    METHOD_NOT_ALLOWED = ("yontem_yok", 405, False)
    RANGE_OUTSIDE = ("aralik_disi", 416, False)
    DELETED = ("silindi", 410, False)
    BUSY = ("mesgul", 503, True)
    INTERNAL = ("ic_hata", 500, True)
    # Who asks
    NAME_TAKEN = ("isci_dolu", 409, False)
    TOO_MANY_NAMES = ("cok_kayit", 429, True)
    TOKEN_REQUIRED = ("belirtec_gerekli", 401, False)
    TOKEN_MISMATCH = ("isci_uyusmuyor", 403, False)
    AWAITING_APPROVAL = ("onay_bekliyor", 403, True)
    WORKER_PAUSED = ("isci_duraklatildi", 403, True)
    WORKER_BLOCKED = ("isci_engelli", 403, False)
    STATE_COPIED = ("isci_kopya", 409, False)
    # Leasing
    FINISHED = ("bitti", 410, False)
    REQUEST_USED = ("istek_kullanildi", 409, False)
    WORKER_BUSY = ("isci_mesgul", 409, True)
    NO_COMMON_ENCODING = ("kodlama_yok", 409, False)
    # Delivering; the lease lives
    DIGEST_MISMATCH = ("ozet_uyusmuyor", 400, True)
    BODY_SHORT = ("govde_kisa", 400, True)
    OFFSET_MISMATCH = ("ofset_uyusmuyor", 409, True)
    NOT_ANNOUNCED = ("duyurulmadi", 409, True)
    CHECKING = ("denetleniyor", 503, True)
    DISK_FULL = ("disk_dolu", 507, True)
    # Delivering; the lease is not touched
    LEASE_KEY_INVALID = ("anahtar_gecersiz", 403, False)
    LEASE_UNKNOWN = ("gorev_yok", 404, False)
    LENGTH_REQUIRED = ("uzunluk_gerekli", 411, False)
    TOO_LARGE = ("cok_buyuk", 413, False)
    # Delivering; the lease ends
    UNIT_TAKEN = ("gorev_dolu", 409, False)
    ROUND_CLOSED = ("tur_kapandi", 409, False)
    CORRUPT_FILE = ("bozuk_dosya", 400, False)
    TENSOR_MISSING = ("eksik_tensor", 422, False)
    TENSOR_EXTRA = ("fazla_tensor", 422, False)
    WRONG_SHAPE = ("yanlis_sekil", 422, False)
    WRONG_DTYPE = ("yanlis_tur", 422, False)
    NOT_FINITE = ("sonlu_degil", 422, False)
    NORM_EXCEEDED = ("norm_asimi", 422, False)
    WRONG_ENCODING = ("yanlis_kodlama", 422, False)
    COMMITMENT_MISMATCH = ("taahhut_uyusmuyor", 422, False)

    def __init__(self, code: str, status: int, retry: bool) -> None:
        self.code, self.status, self.retry = code, status, retry

    @property
    def title(self) -> str:
        return HTTPStatus(self.status).phrase


class Refused(Exception):
    """A request was refused; carries the refusal and a sentence with the remedy."""

    def __init__(self, refusal: Refusal, detail: str, **extra: object) -> None:
        super().__init__(detail)
        self.refusal, self.detail, self.extra = refusal, detail, extra

    @property
    def retry_after(self) -> int | None:
        """Seconds to wait before the same request, or None."""
        value = self.extra.get("retry_after")
        return int(value) if isinstance(value, (int, float)) else None
