"""How ``shards.json`` describes the corpus that shards were made of."""

from typing import Annotated

from pydantic import BaseModel, Field

from worker_client.contract.wire import Sha256, StorableText

MOST_LANGUAGES, MOST_SAMPLES = 200, 1000

LanguageCode = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
Amount = Annotated[int, Field(ge=0, le=2**53 - 1)]
Excerpt = Annotated[StorableText, Field(max_length=1000)]


class Part(BaseModel):
    """Documents of one language that are trained on, or that are held out."""

    documents: Amount = 0
    bytes: Amount = 0
    tokens: Amount = 0
    rows: Amount = 0


class LanguageAmounts(BaseModel):
    """What came of a language's articles; ``dropped`` by reason."""

    read: Amount
    kept: Amount
    characters: Amount
    bytes: Amount
    dropped: dict[str, Amount] = Field(default={}, max_length=100)
    train: Part = Part()
    held_out: Part = Part()

    @property
    def copies(self) -> int:
        return self.dropped.get("duplicate", 0) + self.dropped.get("near_duplicate", 0)

    @property
    def others(self) -> int:
        """Left out for another reason than being a copy."""
        return sum(self.dropped.values()) - self.copies


class Sample(BaseModel):
    """How an article begins."""

    language: LanguageCode
    title: Excerpt
    category: Excerpt
    text: Excerpt


class CorpusDescription(BaseModel):
    sha256: Sha256
    tokenizer: Sha256
    languages: dict[LanguageCode, LanguageAmounts] = Field(max_length=MOST_LANGUAGES)
    samples: list[Sample] = Field(default=[], max_length=MOST_SAMPLES)
