"""What can go wrong with base models; every message names the remedy."""

from worker_client.contract.formats import AdapterFormat


class ModelError(Exception):
    """A base model is not usable."""


class ModelMissing(ModelError):
    def __init__(self, fmt: AdapterFormat) -> None:
        super().__init__(
            f"the base model {fmt.base_model.ref} is not on this computer; get it with "
            f"`python -m worker_client models fetch {fmt.id}`"
        )


class ModelCorrupt(ModelError):
    """Files are missing or differ from their recorded digests."""

    def __init__(self, fmt: AdapterFormat, why: str) -> None:
        super().__init__(
            f"the base model {fmt.base_model.ref} is damaged ({why}); get it again with "
            f"`python -m worker_client models fetch {fmt.id} --force`"
        )


class TokenizerRefused(ModelError):
    """A tokenizer file is missing, or not one that the model can use."""


class SourceRefused(ModelError):
    """What was fetched or named by a path is not the model the manifest describes."""


class FetchFailed(ModelError):
    """The source could not be reached or did not answer."""
