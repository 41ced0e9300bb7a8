"""Why a task cannot be trained; ``code`` travels to the parent in a ``Failure`` event."""


class TrainingError(Exception):
    code = "internal"


class DeviceMissing(TrainingError):
    code = "device_missing"


class SnapshotRefused(TrainingError):
    """The snapshot is not what the format's manifest says, or did not take effect."""

    code = "snapshot_refused"


class NotFinite(TrainingError):
    """The loss became NaN or infinite."""

    code = "not_finite"


class OutOfMemory(TrainingError):
    """Even one sequence at a time does not fit."""

    code = "out_of_memory"


class Abandoned(Exception):
    """Somebody asked to drop the task between two steps."""
