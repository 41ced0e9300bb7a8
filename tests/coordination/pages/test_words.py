"""Whatever a page may have to name has a name."""

from coordination.live.trends import LAYERS
from coordination.templatetags.words import LAYER_NAMES, REFUSALS
from worker_client.contract.errors import Refusal


def test_every_refusal_has_words():
    assert {refusal.code for refusal in Refusal} == REFUSALS.keys()


def test_every_layer_among_others_has_a_name():
    among_others = {name for names in LAYERS.values() if len(names) > 1 for name in names}
    assert among_others == LAYER_NAMES.keys()
