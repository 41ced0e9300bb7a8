"""What workers' events add up to."""

from modelen_site.experiments.told import Told


def downloaded(lease_id: str, what: str, size: int, so_far: int) -> dict:
    return {
        "event": "downloaded", "lease_id": lease_id, "what": what, "bytes": size,
        "sha256": "0" * 64, "bytes_down": so_far,
    }  # fmt: skip


def test_what_came_counts_and_what_was_there_does_not():
    told = Told()
    told.hear("one", {"event": "leased", "lease_id": "a", "round": 1})
    told.hear("one", downloaded("a", "snapshot", 4000, 4700))
    told.hear("one", downloaded("a", "data", 300, 5000))
    told.hear("one", {"event": "leased", "lease_id": "b", "round": 2})
    told.hear("one", downloaded("b", "update", 1000, 6100))
    told.hear("one", downloaded("b", "data", 300, 6100))
    # Its second task of the round: the snapshot was made of the update, but for a few answers.
    told.hear("one", {"event": "leased", "lease_id": "c", "round": 2})
    told.hear("one", downloaded("c", "snapshot", 4000, 6300))
    assert told.once == {"snapshot": 4000, "data": 300}
    assert told.until(1) == (0, 0)
    assert told.until(2) == (0, 1000)
