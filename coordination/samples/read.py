"""The newest samples of a run, as its page and its programs see them."""

from coordination.models import Run, Samples


def newest_samples(run: Run) -> dict | None:
    """None while there are none."""
    found = Samples.objects.filter(snapshot__run=run, texts__isnull=False)
    newest = found.select_related("snapshot").order_by("-snapshot__number").first()
    if newest is None:
        return None
    return {
        "snapshot": newest.snapshot.number,
        "sha256": newest.snapshot.sha256,
        "texts": newest.texts,
    }
