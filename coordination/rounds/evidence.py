"""What is known of a round's results when they are screened."""

import numpy as np

from coordination.aggregation.screen import Evidence
from coordination.models import Result, Round


def evidence_of(round_: Round, results: list[Result]) -> list[Evidence]:
    """One for each of ``results``, whose leases are loaded."""
    known = _delivered_before(round_, results)
    return [
        Evidence(
            norm=result.update_norm or 0.0,
            sketch=None if result.sketch is None else np.frombuffer(result.sketch, "<f4"),
            digest=result.vector_sha256,
            order=result.pk,
            seconds=(result.created_at - result.lease.granted_at).total_seconds(),
            seen_before=result.vector_sha256 in known,
        )
        for result in results
    ]


def _delivered_before(round_: Round, results: list[Result]) -> set[str]:
    """Digests of vectors among ``results`` that the run was given in earlier rounds."""
    digests = [result.vector_sha256 for result in results]
    earlier = Result.objects.filter(
        unit__round__run=round_.run_id,
        unit__round__number__lt=round_.number,
        vector_sha256__in=digests,
    )
    return set(earlier.values_list("vector_sha256", flat=True))
