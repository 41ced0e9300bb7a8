"""Faults to put into ``small_worker.py``, and the check that must find each."""

# One line for each, however long.
# ruff: noqa: E501

from tests.conformance.mutants import Mutant

WORKER_MUTANTS = [
    Mutant("nameless", "headers", '"User-Agent": "small-worker/1", ', '"User-Agent": "", '),
    Mutant("a request of its own kind", "fresh-request", "request_id = secrets.token_hex(16)", 'request_id = secrets.token_hex(16).upper()'),
    Mutant("a name with capitals", "lease-request", '"isci": "small-worker"', '"isci": "Small Worker"'),
    Mutant("no key", "strict-coordinator", "{LEASE_KEY_HEADER: task.lease_key}", '{LEASE_KEY_HEADER: "k" * 64}'),
    Mutant("the key everywhere", "key-kept", "    check(task)\n", "    check(task)\n    SESSION.headers[LEASE_KEY_HEADER] = task.lease_key\n"),
    Mutant("takes zipped files", "identity", '["Accept-Encoding"] = "identity"', '["Accept-Encoding"] = "gzip"'),
    Mutant("files in one piece", "ranges", "last = min(len(part) + ref.chunk_bytes, ref.size) - 1", "last = ref.size - 1"),
    Mutant("moves too far", "result-file", "weights.noise(start.values.size, 1e-3, task.round)", "weights.noise(start.values.size, 1e3, task.round)"),
    Mutant("sends the snapshot back", "result-file", "weights.noise(start.values.size, 1e-3, task.round)", "0 * start.values"),
    Mutant("metrics of no task", "result-metadata", '"gorev": task.lease_id, "tur"', '"tur"'),
    Mutant("promises another file", "promise", "ozet=hashlib.sha256(file).hexdigest()", "ozet=hashlib.sha256(file + b'x').hexdigest()"),
    Mutant("no whole files", "whole-file", '            call("POST", path, data=file, headers=key | told)\n', ""),
    Mutant("does not hear the end", "over", "        else:\n            return None\n", "        else:\n            time.sleep(0.5)\n"),
    Mutant("does not wait", "wait-busy", "max(wait, random.uniform(0, min(300, 2**FAILURES)))", "0.1"),
    Mutant("asks at once", "wait-nothing", 'pause(float(reply.headers["Retry-After"]))', "pause(0.1)"),
    Mutant("a page is an answer", "captive-portal", '"X-Modelen-Protokol" not in reply.headers or passing', "passing"),
    Mutant("a new request each time", "lost-lease", '            failed()\n            continue\n        FAILURES = 0', '            failed()\n            if path == "/gorev":\n                options["json"]["istek"] = secrets.token_hex(16)\n            continue\n        FAILURES = 0'),
    Mutant("works on", "unwanted", 'raise Dropped("no longer wanted")', "pass"),
    Mutant("trusts what comes", "wrong-digest", "if hashlib.sha256(part).hexdigest() == ref.sha256:", "if True:"),
    Mutant("appends zipped bytes", "encoded", ' or "Content-Encoding" in reply.headers', ""),
    Mutant("begins again", "resume", "            if len(part) > ref.size:\n                part.clear()\n", "            part.clear()\n"),
    Mutant("sends refused results again", "refused-for-good", '        if reply.status_code == 200 or (reply.status_code >= 400 and not reply.json()["tekrar"]):\n            return\n', '        if reply.status_code == 200:\n            return\n        call("PATCH", path, data=piece, headers=key | told)\n        return\n'),
    Mutant("a lost verdict is lost", "lost-verdict", '        reply = call("PATCH", path, data=piece, headers=key | told)\n', '        try:\n            reply = call("PATCH", path, data=piece, headers=key | told, into=bytearray())\n        except Dropped:\n            return\n        if reply.status_code == 200:\n            return\n        reply = call("PUT", path, json=announced, headers=key)\n'),
    Mutant("any path", "hostile-paths", "return wire.Task.model_validate_json(reply.content)", 'return wire.Task.model_construct(**{**wire.Task.model_validate({**reply.json(), "adaptor": {**reply.json()["adaptor"], "yol": "/adaptor"}, "son": __import__("datetime").datetime.now(__import__("datetime").UTC), "is": wire.Job.TRAIN, "mod": wire.Mode.CPT}).__dict__, "snapshot": wire.FileRef.model_construct(path=reply.json()["adaptor"]["yol"], sha256=reply.json()["adaptor"]["sha256"], size=reply.json()["adaptor"]["boyut"], chunk_bytes=65536)})'),
    Mutant("any recipe", "hostile-unknown", '    if known != ("v1", fmt.base_ref, "ham", "egit"):\n', '    if known[1:] != (fmt.base_ref, "ham", "egit"):\n'),
    Mutant("any size", "hostile-sizes", "    if not 0 < task.snapshot.size - fmt.data_bytes <= 2**20:\n", "    if False:\n"),
    Mutant("any number", "hostile-numbers", "return wire.Task.model_validate_json(reply.content)", 'return wire.Task.model_validate_json(__import__("json").dumps(reply.json() | {"bs": 1, "seq": 16, "ic_adim": 1, "lr": 0.001, "tohum": 1, "tur": 1, "parca": 0, "sure": 60}))'),
    Mutant("follows anybody", "hostile-redirects", "allow_redirects=False", "allow_redirects=True"),
    Mutant("out of the base", "hostile-redirect-below", "allow_redirects=False", "allow_redirects=True"),
    Mutant("reads for ever", "hostile-endless", "        if len(into) > limit:\n", "        if False:\n"),
    Mutant("hammers", "back-off", "pause(max(wait, random.uniform(0, min(300, 2**FAILURES))))", "pause(wait)"),
    Mutant("gives up", "back-off", "                    failed(wait)\n                    continue\n", '                    sys.exit("gave up")\n'),
    Mutant("forgets at a restart", "wait-over-restart", "FAILURES = 0\n\n\nclass", "FAILURES = 0\nWAIT.unlink(missing_ok=True)\n\n\nclass"),
]  # fmt: skip
