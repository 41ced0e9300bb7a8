"""``/adaptor`` and ``/veri``: digests, conditions, ranges."""

from itertools import pairwise

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.bench import Bench, known_format
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import expect, expect_status
from worker_client.contract import wire
from worker_client.contract.errors import Refusal
from worker_client.contract.recipe import IGNORED_LABEL


def each(bench: Bench) -> list[wire.FileRef]:
    """The lease's files: the snapshot, and the shard where one is served."""
    task = bench.lease().task
    return [task.snapshot, *([task.data] if task.data else [])]


@check("file-digest", "(path, digest in lower-case hex, bytes, preferred Range size)")
def file_digest(bench: Bench) -> None:
    for ref in each(bench):
        data = expect_status(bench.http.fetch(ref.path), 200).body
        demand(len(data) == ref.size, f"{ref.path}: {len(data)} bytes, announced {ref.size}")
        demand(weights.sha256(data) == ref.sha256, f"{ref.path} has another sha256 than announced")


@check("file-snapshot", "id of the tensor manifest that snapshot and result must have")
def file_snapshot(bench: Bench) -> str:
    lease = bench.lease()
    start, fmt = bench.start(lease), known_format(lease.task.format)
    found = {name: shape for name, _, shape in start.specs}
    demand(
        found == {s.name: s.shape for s in fmt.tensors},
        f"the snapshot's tensors are not {fmt.id}'s",
    )
    return f"{len(found)} tensors, {start.values.size} numbers"


@check(
    "file-data",
    "Data: `input_ids` int32 `[n, seq]`, for `sft` also `labels` int32 `[n, seq]` (-100: no "
    "loss), right-padded; metadata "
    "`belirtec_sha256`",
)
def file_data(bench: Bench) -> str:
    task = bench.lease().task
    if task.data is None:
        raise Absent("no served data")
    header = weights.read_file(bench.file(task.data), task.data.path)
    wanted = {"input_ids", "labels"} if task.mode == wire.Mode.SFT else {"input_ids"}
    demand(header.tensors.keys() == wanted, f"the shard has {sorted(header.tensors)}")
    for name, entry in header.tensors.items():
        fits = entry.dtype == "I32" and len(entry.shape) == 2 and entry.shape[1] == task.seq_len
        demand(fits and entry.shape[0] >= 1, f"{name} is {entry.dtype} {list(entry.shape)}")
    digest = header.metadata.get("belirtec_sha256", "")
    demand(len(digest) == 64, f"belirtec_sha256 in the metadata is {digest!r}")
    return f"{header.tensors['input_ids'].shape[0]} rows"


@check("file-labels", "for `sft` also `labels` int32 `[n, seq]` (-100: no loss)")
def file_labels(bench: Bench) -> str:
    task = bench.lease().task
    if task.mode != wire.Mode.SFT:
        raise NotObservable(f"the run is of mod {task.mode.value}; make one of sft")
    if task.data is None:
        raise Absent("no served data")
    data, fmt = bench.file(task.data), known_format(task.format)
    tensors = weights.read_file(data, task.data.path).tensors
    demand("labels" in tensors, f"the shard has {sorted(tensors)}")
    ids, labels = tensors["input_ids"], tensors["labels"]
    demand(labels.shape == ids.shape, f"labels are {list(labels.shape)}, ids {list(ids.shape)}")
    values = np.frombuffer(data[labels.start : labels.stop], "<i4").reshape(labels.shape)
    told = values != IGNORED_LABEL
    odd = values[told & ((values < 0) | (values >= fmt.vocab_size))]
    demand(not odd.size, f"a label is {odd[:1]} in a vocabulary of {fmt.vocab_size}")
    demand(told[:, 1:].any(), "no token of the shard is predicted")
    return f"{told[:, 1:].sum()} of {values.size} tokens are predicted"


@check(
    "file-tokenizer",
    "A worker refuses a shard whose `seq` differs, whose tokenizer is not its base model's, or "
    "with ids outside the vocabulary.",
)
def file_tokenizer(bench: Bench) -> str:
    task = bench.lease().task
    if task.data is None:
        raise Absent("no served data")
    fmt, data = known_format(task.format), bench.file(task.data)
    header = weights.read_file(data, task.data.path)
    digest = header.metadata.get("belirtec_sha256")
    demand(digest == fmt.tokenizer_sha256, f"tokenizer {digest}, not {fmt.tokenizer_sha256}")
    entry = header.tensors["input_ids"]
    ids = np.frombuffer(data[entry.start : entry.stop], "<i4")
    inside = (ids.min() >= 0) and (ids.max() < fmt.vocab_size)
    demand(inside, f"ids {ids.min()} to {ids.max()} in a vocabulary of {fmt.vocab_size}")
    return f"ids {ids.min()} to {ids.max()} of {fmt.vocab_size}"


@check(
    "file-identity",
    "Files are sent unencoded (`Accept-Encoding: identity`; an encoded answer is refused).",
)
def file_identity(bench: Bench) -> None:
    for ref in each(bench):
        reply = bench.http.fetch(ref.path, {"Accept-Encoding": "gzip, br, zstd"})
        coding = reply.headers.get("Content-Encoding", "identity")
        demand(coding == "identity", f"{ref.path} came as {coding}")


@check("file-etag", "Every file has a strong `ETag`, its sha256 in quotes")
def file_etag(bench: Bench) -> None:
    for ref in each(bench):
        said = bench.http.fetch(ref.path).headers.get("ETag")
        demand(said == f'"{ref.sha256}"', f"{ref.path} has ETag {said}")


@check("file-if-none-match", "answers `If-None-Match` (304)")
def file_if_none_match(bench: Bench) -> None:
    for ref in each(bench):
        same = bench.http.fetch(ref.path, {"If-None-Match": f'"{ref.sha256}"'})
        expect_status(same, 304)
        demand(not same.body, f"{same} has a body")
        expect_status(bench.http.fetch(ref.path, {"If-None-Match": f'"{"0" * 64}"'}), 200)


@check("file-head", "`HEAD`, and single `Range` requests")
def file_head(bench: Bench) -> None:
    for ref in each(bench):
        reply = expect_status(bench.http.send("HEAD", ref.path), 200)
        said = (reply.headers.get("Content-Length"), reply.headers.get("ETag"))
        demand(said == (str(ref.size), f'"{ref.sha256}"'), f"{reply} has length, ETag {said}")


@check("file-range", "single `Range` requests (206")
def file_range(bench: Bench) -> None:
    for ref in each(bench):
        size, whole = ref.size, bench.file(ref)
        cuts = sorted({0, 1, size // 3, size // 2, size})
        spans = {f"bytes={a}-{b - 1}": (a, b) for a, b in pairwise(cuts)}
        spans |= {f"bytes={size // 2}-": (size // 2, size), "bytes=-7": (size - 7, size)}
        spans |= {f"bytes={size - 3}-{size + 1000}": (size - 3, size)}
        for asked, (start, stop) in spans.items():
            reply = bench.http.fetch(ref.path, {"Range": asked})
            demand(reply.status == 206, f"{reply} for Range: {asked}, not 206")
            said = reply.headers.get("Content-Range")
            demand(said == f"bytes {start}-{stop - 1}/{size}", f"Range: {asked} brought {said}")
            demand(reply.body == whole[start:stop], f"Range: {asked} brought other bytes")


@check("file-if-range", "(206, `If-Range` honoured")
def file_if_range(bench: Bench) -> None:
    for ref in each(bench):
        for etag, status in ((ref.sha256, 206), ("0" * 64, 200)):
            headers = {"Range": "bytes=0-7", "If-Range": f'"{etag}"'}
            reply = bench.http.fetch(ref.path, headers)
            demand(reply.status == status, f"{reply} for If-Range {etag[:8]}..., not {status}")
            demand(len(reply.body) == (8 if status == 206 else ref.size), f"{reply}: wrong length")


@check("file-range-outside", "416 `aralik_disi` outside")
def file_range_outside(bench: Bench) -> None:
    for ref in each(bench):
        reply = bench.http.send(
            "GET", ref.path, headers={"Range": f"bytes={ref.size}-"}, limit=ref.size
        )
        expect(reply, Refusal.RANGE_OUTSIDE)


@check("file-missing", "what does not exist is 404 `yok`")
def file_missing(bench: Bench) -> None:
    lease = bench.lease()
    paths = [f"/adaptor?tur={lease.task.rounds + 1000}"]
    if lease.task.data:
        paths.append(f"/veri?parca={lease.task.shards + 1000}")
    for path in paths:
        expect(bench.http.send("GET", path), Refusal.NOT_FOUND)


@check("file-snapshot-number", "Snapshot N is what round N starts from (1: the initial one)")
def file_snapshot_number(bench: Bench) -> None:
    task = bench.lease().task
    reply = expect_status(bench.http.fetch(f"/adaptor?tur={task.round}"), 200)
    same = weights.sha256(reply.body) == task.snapshot.sha256
    demand(same, f"/adaptor?tur={task.round} is another file than the lease's adaptor")
