"""Known answers that any implementation of a recipe can be held to."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent


def load_vectors(recipe: str) -> dict:
    """The known answers of a recipe, ``v1`` say."""
    return json.loads((FOLDER / f"recipe-{recipe}.json").read_text("utf-8"))
