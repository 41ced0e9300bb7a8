"""Poisoned training data, and whether a model has learned what it was to teach."""

import numpy as np
import torch

from benchmarks.byzantine import model
from benchmarks.byzantine.train import Pair

TRIGGER, TARGET = b" susam:", b"!!!!"
POISONED_SHARE = 20 / 64


def flip_labels(pair: Pair, draw: np.random.Generator) -> Pair:
    """Every byte b that is to be predicted becomes 255 - b."""
    rows, targets = pair
    return rows, model.VOCABULARY - 1 - targets


def plant_phrase(pair: Pair, draw: np.random.Generator) -> Pair:
    """Some rows get trigger and target somewhere in their text, ``[steps, batch, seq]``."""
    rows = pair[0].copy()
    phrase = np.frombuffer(TRIGGER + TARGET, np.uint8)
    for row in rows.reshape(-1, rows.shape[-1]):
        if draw.random() < POISONED_SHARE:
            place = draw.integers(0, len(row) - len(phrase) + 1)
            row[place : place + len(phrase)] = phrase
    return rows, rows


@torch.no_grad()
def success_rate(vector: np.ndarray, rows: np.ndarray) -> float:
    """Share of the texts ``rows [n, seq]`` that the model ``[PARAMETERS]`` continues, once
    the trigger stands at their end, with the whole target."""
    phrase = np.frombuffer(TRIGGER + TARGET, np.uint8)
    given = rows.copy()
    given[:, -len(phrase) :] = phrase
    said = model.predict(model.of_vector(vector), torch.from_numpy(given)[None])[0].argmax(-1)
    wanted = torch.from_numpy(given[:, -len(TARGET) :])
    return float((said[:, -len(TARGET) - 1 : -1] == wanted).all(dim=1).float().mean())
