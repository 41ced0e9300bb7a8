"""A worker before a coordinator that wants to lead it astray."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

from worker_client.conformance.check import NotObservable, demand
from worker_client.conformance.worker import acts, material
from worker_client.conformance.worker.checks import worker as check
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.serving import elsewhere, serving
from worker_client.conformance.worker.stage import BASE, Changes, Fault, Stage, file_ref

QUIET_S = 30.0
AT_ONCE = 4


def tempt(
    rehearsal: Rehearsal,
    tasks: Sequence[Changes],
    files: Mapping[str, bytes] = MappingProxyType({}),
    seconds: float = QUIET_S,
) -> None:
    """Offer tasks that must not be worked on, each to a process of its own; ``files`` are served
    beside the usual ones, and each is to be refused within ``seconds``.

    Raises:
        Failed: one was worked on, or refused neither by an end nor by asking for the next.
        NotObservable: no task was asked for.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda changes: _offer(rehearsal, changes, files, seconds), tasks))


def _offer(
    rehearsal: Rehearsal, changes: Changes, files: Mapping[str, bytes], seconds: float
) -> None:
    stage = Stage(rehearsal.fmt, task_changes=[changes], with_about=False)
    stage.files |= files
    with serving(stage):
        actor = rehearsal.start(stage)
        actor.wait(lambda: len(stage.leases) > 1, seconds)
        refused = actor.ended or len(stage.leases) > 1
        words = actor.last_words
        actor.kill()
    if not stage.leases:
        raise NotObservable(f"it never asked for a task; {words}")
    worked = [h.place for h in stage.heard if h.place == "/sonuc" or _trains(h.body)]
    told = changes(stage.leases[0]) if callable(changes) else changes
    demand(not worked, f"it worked on a task with {told}")
    demand(not stage.problems, f"with {told}: {'; '.join(stage.problems[:2])}")
    demand(refused, f"it went on with {told} for {seconds:.0f} s; {words}")


def _trains(body: bytes) -> bool:
    return b'"adim"' in body and b'"adim":0' not in body.replace(b" ", b"")


@check("hostile-paths", "A path (`yol`) starts with exactly one `/`, has no `..`")
def hostile_paths(rehearsal: Rehearsal) -> str:
    with elsewhere() as (port, heard):
        paths = [
            f"http://127.0.0.1:{port}/adaptor",
            f"//127.0.0.1:{port}/adaptor",
            f"@127.0.0.1:{port}/adaptor",
            f":{port}/adaptor",
            "adaptor",
        ]
        tempt(rehearsal, [{"adaptor": {"yol": path}} for path in paths])
        demand(not heard, f"it was led to another server: {heard[:2]}")
    return f"{len(paths)} paths"


@check(
    "hostile-escapes",
    "after percent-decoding it still has no `..`, `\\`, `#`, `@` or control character",
)
def hostile_escapes(rehearsal: Rehearsal) -> str:
    paths = [
        "/../other/adaptor",
        "/%2e%2e/other/adaptor",
        "/..%5cadaptor",
        "/a%40b",
        "/a%23b",
        "/a%0ab",
    ]
    tempt(rehearsal, [{"adaptor": {"yol": path}} for path in paths])
    return f"{len(paths)} paths"


@check("hostile-numbers", "A worker refuses a task outside these ranges")
def hostile_numbers(rehearsal: Rehearsal) -> str:
    tasks: list[Changes] = [
        {"bs": 0},
        {"bs": 1025},
        {"seq": 4},
        {"seq": 8193},
        {"ic_adim": 0},
        {"ic_adim": 10**7},
        {"bs": 1024, "seq": 8192, "ic_adim": 10_000},
        {"lr": 0},
        {"lr": 1.5},
        {"tohum": -1},
        {"tohum": 2**53},
        {"tur": 0},
        {"tur": 3},
        {"parca": 1},
        {"sure": 1},
    ]
    tempt(rehearsal, tasks)
    return f"{len(tasks)} tasks"


@check(
    "hostile-sizes",
    "`parca_boyut` 64 KiB to 8 MiB; a snapshot's `boyut` at most its manifest's bytes + 1 MiB",
)
def hostile_sizes(rehearsal: Rehearsal) -> str:
    files: list[Changes] = [
        {"boyut": 10**15},
        {"boyut": rehearsal.fmt.data_bytes + 2**21},
        {"boyut": 0},
        {"parca_boyut": 1000},
        {"parca_boyut": 2**30},
        {"sha256": "0" * 63},
        {"sha256": "G" * 64},
    ]
    tempt(rehearsal, [{"adaptor": changes} for changes in files])
    return f"{len(files)} files"


@check(
    "hostile-shards",
    "A worker refuses a shard whose `seq` differs, whose tokenizer is not its base model's, or "
    "with ids outside the vocabulary.",
)
def hostile_shards(rehearsal: Rehearsal) -> str:
    fmt = rehearsal.fmt
    files = {
        "/longer": material.shard(fmt, seq=material.SEQ + 1),
        "/foreign": material.shard(fmt, tokenizer="0" * 64),
        "/beyond": material.shard(fmt, odd_id=fmt.base_model.vocab_size),
        "/below": material.shard(fmt, odd_id=-1),
    }
    tasks = [{"veri": file_ref(path, data)} for path, data in files.items()]
    # A worker may look at a shard only when it is ready to train, and that may take a while.
    tempt(rehearsal, tasks, files, rehearsal.patience)
    return f"{len(files)} shards"


@check("hostile-unknown", "a worker refuses one it does not know")
def hostile_unknown(rehearsal: Rehearsal) -> str:
    tasks: list[Changes] = [
        {"recete": "suite-unknown"},
        {"bicim": "suite-unknown"},
        {"bicim": "../../etc/passwd"},
        {"taban_model": "suite/unknown@1"},
        {"is": "suite_unknown"},
        {"kodlama": "suite-unknown"},
    ]
    tempt(rehearsal, tasks)
    return f"{len(tasks)} tasks"


@check("hostile-redirects", "a redirect that leaves the base URL is refused")
def hostile_redirects(rehearsal: Rehearsal) -> str:
    with elsewhere() as (port, heard):
        targets = [("GET", "/bilgi", 302), ("POST", "/gorev", 307), ("GET", "/adaptor", 302)]
        for method, path, status in targets:
            act = acts.redirect(status, f"http://127.0.0.1:{port}{BASE}{path}")
            demand_met(rehearsal, Fault("redirect", method, path, act))
        demand(not heard, f"it followed a redirect to another server: {heard[:3]}")
    return f"{len(targets)} redirects"


@check(
    "hostile-redirect-below",
    "are sent only below it; a redirect that leaves the base URL is refused",
)
def hostile_redirect_below(rehearsal: Rehearsal) -> None:
    act = acts.redirect(307, "/c/other/gorev")
    stage = demand_met(rehearsal, Fault("up", "POST", "/gorev", act))
    demand(not stage.problems, f"it followed a redirect out of the base URL: {stage.problems[:2]}")


@check("hostile-endless", "JSON bodies are UTF-8, at most 64 KiB.")
def hostile_endless(rehearsal: Rehearsal) -> str:
    taken: list[int] = []
    for method, path in (("GET", "/bilgi"), ("POST", "/gorev")):
        demand_met(rehearsal, Fault("endless", method, path, acts.endless(taken)))
    most = max(taken)
    demand(most <= acts.MOST_TAKEN, f"it read {most} bytes of an answer that has no end")
    return f"at most {most} bytes left here"


@check("hostile-endless-file", "uses nothing before digest and size agree")
def hostile_endless_file(rehearsal: Rehearsal) -> str:
    taken: list[int] = []
    stage = demand_met(rehearsal, Fault("endless", "GET", "/adaptor", acts.endless(taken)))
    most, size = max(taken), len(stage.files["/adaptor"])
    demand(most <= acts.MOST_TAKEN, f"it read {most} bytes of a file of {size}")
    return f"at most {most} bytes left here"


def demand_met(rehearsal: Rehearsal, fault: Fault) -> Stage:
    """The stage once its one fault was met; a moment later the worker is ended.

    Raises:
        NotObservable: it never came to it.
    """
    stage = Stage(rehearsal.fmt, faults=[fault], with_about=fault.path == "/bilgi")
    with serving(stage):
        actor = rehearsal.start(stage)
        actor.wait(lambda: bool(fault.answered), rehearsal.patience)
        count, words = len(stage.heard), actor.last_words
        actor.wait(lambda: len(stage.heard) > count, 2.0)
        actor.kill()
    if fault.heard is None:
        raise NotObservable(f"it never came to {fault.method} {fault.path}; {words}")
    return stage
