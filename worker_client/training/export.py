"""An adapter as a folder that ``peft.PeftModel.from_pretrained`` loads."""

from pathlib import Path

from worker_client.contract.formats import Format
from worker_client.training.adapter import lora_config
from worker_client.training.files import Written, read_adapter, write_adapter


def export(fmt: Format, adapter: Path, folder: Path) -> Written:
    """Write ``adapter_config.json`` and ``adapter_model.safetensors`` into ``folder``.

    Raises:
        SnapshotRefused: the adapter file is not of this format.
    """
    tensors = read_adapter(adapter, fmt)
    folder.mkdir(parents=True, exist_ok=True)
    config = lora_config(fmt)
    config.inference_mode = True
    config.save_pretrained(folder)
    return write_adapter(
        folder / "adapter_model.safetensors", fmt, tensors, {"format": "pt", "bicim": fmt.id}
    )
