"""Which device trains, and whether it multiplies bfloat16 natively."""

from dataclasses import dataclass

import torch

from worker_client.training.errors import DeviceMissing


@dataclass(frozen=True)
class Device:
    """``dtype`` is the frozen base's; adapters and optimiser state are always float32."""

    place: torch.device
    dtype: torch.dtype
    threads: int

    @property
    def label(self) -> str:
        """For people and for the result's metadata."""
        if self.place.type == "cuda":
            return torch.cuda.get_device_name(self.place)
        return f"cpu, {self.threads} thread{'s' if self.threads > 1 else ''}"

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")


def choose_device(name: str = "auto", dtype: str = "auto", threads: int | None = None) -> Device:
    """``name``: ``auto`` (a GPU if torch sees one), ``cpu``, ``cuda`` or ``cuda:N``.

    Sets torch's number of threads for the whole process.

    Raises:
        DeviceMissing: names the remedy.
    """
    if threads:
        torch.set_num_threads(threads)
    chosen = _find(name)
    kind = _native_dtype(chosen) if dtype == "auto" else getattr(torch, dtype)
    return Device(chosen, kind, torch.get_num_threads())


def _find(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise DeviceMissing(f"unknown device {name!r}; use auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceMissing(
            f"torch sees no device {name}: check the driver with nvidia-smi and that torch was "
            "installed for CUDA, or use --device cpu"
        )
    return device


def _native_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 only where it is multiplied in hardware: emulation is slower than float32."""
    if device.type == "cuda":
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if native else torch.float32
