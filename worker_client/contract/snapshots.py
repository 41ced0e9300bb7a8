"""What a snapshot file begins with: both sides make the same bytes."""

from worker_client.contract.formats import Format
from worker_client.contract.tensors import build_header


def snapshot_header(fmt: Format, number: int) -> bytes:
    """Header of snapshot ``number``; no times in it, so that equal weights give equal files."""
    tensors = ((spec.name, "F32", spec.shape) for spec in fmt.tensors)
    return build_header(tensors, {"format": "pt", "bicim": fmt.id, "tur": str(number)})
