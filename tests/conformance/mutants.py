"""Faults to put into ``examples/minimal_coordinator.py``, and the check that must find each."""
# One line for each, however long.
# ruff: noqa: E501

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """``old`` stands exactly once in the source, and becomes ``new``. ``after`` are checks that
    have to run before the one that finds it."""

    name: str
    caught_by: str
    old: str
    new: str
    after: tuple[str, ...] = ()

    def apply(self, source: str) -> str:
        """Raises ValueError where the source has changed under the mutant."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {source.count(self.old)} times: {self.old!r}")
        return source.replace(self.old, self.new)


MUTANTS = [
    # Common rules
    Mutant(
        "problems as plain JSON",
        "problem-members",
        "'problem+json' if",
        "'json' if",
    ),
    Mutant("problems without type", "problem-members", '"type": "about:blank", ', ""),
    Mutant(
        "passing errors called final",
        "result-digest-wrong",
        '"it arrived damaged; send it again", True)',
        '"it arrived damaged; send it again")',
    ),
    Mutant("no version in answers", "version-told", '{"X-Modelen-Protokol": "1", ', "{"),
    Mutant("any version taken", "version-unknown", 'version == "1", 400', "True, 400"),
    Mutant(
        "version demanded",
        "version-absent",
        'self.headers.get("X-Modelen-Protokol", "1")',
        'self.headers.get("X-Modelen-Protokol", "0")',
    ),
    Mutant("no Allow", "wrong-method", '"see Allow", headers=allow', '"no"'),
    Mutant("any JSON taken", "json-wrong", "demand(proper, 400", "demand(True, 400"),
    Mutant("capitals in a name", "json-wrong", '"[a-z0-9_-]{3,32}', '"[A-Za-z0-9_-]{3,32}'),
    Mutant("JSON of any size", "json-size", "else 65536", "else 2**30"),
    Mutant("another code for no place", "unknown-path", '404, "yok", "nothing here"', '404, "gorev_yok", "nothing here"'),
    Mutant("fields that are new", "unknown-fields", 'asked = ask["isci"], ask["istek"]', 'asked = ask["isci"], ask["istek"] if "cihaz" not in ask else None'),
    # Reading
    Mutant("a state of its own", "status-fields", 'else "acik"', 'else "open"'),
    Mutant("leases not counted", "status-units", '"kirada": live', '"kirada": 0'),
    Mutant("refusals not counted", "status-results", "len(judged) - kabul", "0"),
    Mutant("another protocol", "about-fields", '"protokol": 1', '"protokol": 2'),
    Mutant("another inner steps told", "about-agrees", "self.fields | {\"tur\"", 'self.fields | {"ic_adim": 99, "tur"'),
    # Leasing
    Mutant("no seed in a lease", "lease-fields", '"lr": 0.001, "tohum": 0,', '"lr": 0.001,'),
    Mutant("leases may be cached", "lease-no-store", '"no-store"', '"max-age=60"'),
    Mutant("a deadline in an hour", "lease-deadline", "time.gmtime(lease.ends)", "time.gmtime(lease.ends + 3600)"),
    Mutant("no repetition", "lease-repeat", "if lease := self.leases.get(asked):", "if lease := None:"),
    Mutant("a name is enough", "lease-proof", 'asked = ask["isci"], ask["istek"]', 'asked = ask["isci"], "0" * 32'),
    Mutant("a unit leased twice", "lease-one-per-unit", "sorted(set(range(self.fields[\"n_parca\"])) - taken - self.results.keys())", "[0]"),
    Mutant("204 without Retry-After", "lease-nothing-wait", '204, b"", {"Retry-After": "1"}', '204, b"", {}'),
    Mutant("no work is an error", "lease-nothing", 'return 204, b"", {"Retry-After": "1"}', 'demand(False, 404, "yok", "no work")'),
    Mutant("unknown jobs get training", "lease-jobs", ' or "egit" not in ask.get("isler", ["egit"])', ""),
    Mutant("encodings not looked at", "lease-encodings", 'demand("ham" in ask', 'demand(True or ask'),
    Mutant("an encoding not offered", "lease-encoding-offered", '"kodlama": "ham",', '"kodlama": "topk",'),
    Mutant("an ended request leases again", "lease-request-used", "demand(self.live(lease), 409", "demand(True, 409"),
    Mutant("a delivered request leases again", "accepted-request-used", "demand(self.live(lease), 409", "demand(self.live(lease) or 200 in [told[0] for told in lease.verdicts.values()], 409"),
    # Files
    Mutant("another digest announced", "file-digest", '"sha256": digest, "boyut"', '"sha256": "0" * 64, "boyut"'),
    Mutant("no ETag", "file-etag", '"ETag": etag, ', ""),
    Mutant("a weak ETag", "file-etag", "etag = f'\"", "etag = f'W/\""),
    Mutant("If-None-Match ignored", "file-if-none-match", 'if etag in request.headers.get("If-None-Match", ""):', "if False:"),
    Mutant("HEAD without length", "file-head", 'if name != "Content-Length" or', 'if name != "Content-Length" or self.command != "HEAD" and'),
    Mutant("a range too long", "file-range", "int(span[2]) + 1)", "int(span[2]) + 2)"),
    Mutant("no ranges", "file-range", "if not span or", "if True or"),
    Mutant("If-Range ignored", "file-if-range", ' or request.headers.get("If-Range", etag) != etag', ""),
    Mutant("outside is the whole", "file-range-outside", 'demand(start < stop, 416, "aralik_disi"', 'demand(True, 416, "aralik_disi"'),
    Mutant("any file is there", "file-missing", "demand(request.path in self.files, 404", 'request.path = "/adaptor?tur=1"; demand(True, 404'),
    Mutant("ids of another vocabulary", "file-tokenizer", "path.read_bytes() for i", 'path.read_bytes()[:-4] + b"\\xff\\xff\\0\\0" for i'),
    Mutant("another format's name", "file-snapshot", '"bicim": "tiny-qwen3-lora-r4"', '"bicim": "smollm2-135m-lora-r16"'),
    Mutant("rows by another name", "file-data", "path.read_bytes() for i", 'path.read_bytes().replace(b"input_ids", b"input_row") for i'),
    Mutant("the data for a snapshot", "file-snapshot-number", 'self.file_ref(f"/adaptor?tur={lease.tur}")', 'self.file_ref("/veri?parca=0")'),
    Mutant("what is deleted never was", "file-retention", "        self.gecmis.append(row", "        self.files.pop(f\"/adaptor?tur={self.tur - 1}\", None)\n        self.gecmis.append(row"),
    Mutant("no base model's revision", "lease-base", '"modelen/tiny-qwen3@seed-0"', '"modelen/tiny-qwen3"'),
    Mutant("zipped", "file-identity", '"ETag": etag, ', '"ETag": etag, "Content-Encoding": "gzip", '),
    # Delivering
    Mutant("any key fits", "result-key", "demand(fits, 403", "demand(True, 403"),
    Mutant("one key for all", "result-foreign-key", "*map(secrets.token_hex, (12, 32))", '*(secrets.token_hex(12), "k" * 64)'),
    Mutant("unknown tasks are wrong keys", "result-unknown-task", '404, "gorev_yok"', '403, "anahtar_gecersiz"'),
    Mutant("no length needed", "result-length", '411, "uzunluk_gerekli"', '400, "gecersiz_istek"'),
    Mutant("any length", "result-too-large", "MIB + 8 if", "99 * MIB if"),
    Mutant("no digest needed", "result-digest-required", 'told = request.headers.get("Content-Digest", "")', 'told = request.headers.get("Content-Digest", f"sha-256=:{base64.b64encode(sha256(request.data).digest()).decode()}:")'),
    Mutant("the digest not compared", "result-digest-wrong", "demand(told == found, 400", "demand(True, 400"),
    Mutant("a short body judged", "result-short", 'demand(len(self.data) == int(length), 400, "govde_kisa"', 'demand(True, 400, "govde_kisa"'),
    Mutant("nothing delivered is refused", "result-nothing-yet", '            demand(lease.verdicts, 404, "yok", "nothing was delivered for this task")\n', '            if not lease.verdicts:\n                return 200, {"durum": "ret"}, {}\n'),
    # Refusing
    Mutant("garbage is another code", "refuse-garbage", '400, "bozuk_dosya"', '422, "bozuk_dosya"'),
    Mutant("the end not compared", "refuse-truncated", "if end != len(data):", "if False:"),
    Mutant("gaps taken", "refuse-offsets", "(begin, stop - begin) != (end, math.prod", "(end, stop - begin) != (end, math.prod"),
    Mutant("missing tensors called extra", "refuse-missing", '"eksik_tensor"', '"fazla_tensor"'),
    Mutant("extra tensors taken", "refuse-extra", "demand(not theirs - ours, 422", "tensors = {name: tensors[name] for name in ours}; demand(True, 422"),
    Mutant("shapes not compared", "refuse-shape", "demand(shape == self.tensors[name][1], 422", "demand(True, 422"),
    Mutant("dtypes not compared", "refuse-dtype", 'demand(dtype == "F32", 422', "demand(True, 422"),
    Mutant("NaN taken", "refuse-nan", "demand(math.isfinite(norm), 422", "norm = 0 if math.isnan(norm) else norm; demand(True, 422"),
    Mutant("infinity taken", "refuse-infinite", "demand(math.isfinite(norm), 422", "norm = 0 if math.isinf(norm) else norm; demand(True, 422"),
    Mutant("a huge number taken", "refuse-huge", "demand(norm <= most, 422", "demand(True, 422"),
    Mutant("a norm half as large again", "refuse-norm", "most = 4 * self.fields", "most = 6 * self.fields"),
    Mutant("encodings taken for tensors", "refuse-encoding", 'demand(theirs != {"delta"}, 422', "demand(True, 422"),
    Mutant("a refusal keeps the lease", "refused-requeues", "            lease.open = False\n", ""),
    Mutant("refusals forgotten", "refused-fate", "                lease.verdicts[told] = refused.args\n", "                return refused.args\n"),
    Mutant("refused bytes judged anew", "refused-again", "if told not in lease.verdicts:", "if lease.verdicts.get(told, (400,))[0] >= 400:"),
    Mutant("results on an ended task", "refused-is-over", "demand(lease.open and lease.parca", "demand(lease.parca"),
    # Expiring
    Mutant("an expired request leases on", "expired-request", "return wanted and lease.ends > time.time()", "return wanted"),
    Mutant("expired units stay taken", "expired-requeues", "for lease in self.leases.values() if self.live(lease)}", "for lease in self.leases.values() if lease.open}"),
    Mutant("late results refused", "expired-still-taken", "demand(lease.open and lease.parca", "demand(self.live(lease) and lease.parca"),
    Mutant("the second result wins", "expired-first-wins", "demand(lease.open and lease.parca not in self.results, 409", "demand(lease.open, 409"),
    # Accepting
    Mutant("a verdict about another round", "accepted", '"tur": lease.tur, "sha256": digest}', '"tur": lease.tur + 1, "sha256": digest}'),
    Mutant("the same bytes judged anew", "accepted-again", "if told not in lease.verdicts:", "if True:"),
    Mutant("the same bytes counted twice", "accepted-once", "judged.count(200)", "2 * judged.count(200)"),
    Mutant("other bytes replace", "accepted-other-bytes", "demand(lease.open and lease.parca not in self.results, 409", "demand(True, 409"),
    Mutant("tensors by place", "accepted-any-order", "b\"\".join(tensors[name][2] for name in self.tensors)", "b\"\".join(tensor[2] for tensor in tensors.values())"),
    Mutant("fate unknown", "accepted-fate", '"durum": "bekliyor"', '"durum": "olur"'),
    # Rounds
    Mutant("a digest of the round before", "round-digest", '"sha256": self.file_ref(path)["sha256"]', '"sha256": self.file_ref(f"/adaptor?tur={self.tur}")["sha256"]'),
    Mutant("the first snapshot again", "round-published", "header[: -4 * len(self.weights)] + self.weights.tobytes()", "header"),
    Mutant("always round one", "round-number", '"tur": self.tur - over', '"tur": 1'),
    Mutant("each round from the first snapshot", "round-next-starts-there", 'self.file_ref(f"/adaptor?tur={lease.tur}")', 'self.file_ref("/adaptor?tur=1")'),
    Mutant("a result too many", "round-counts", '"kabul": len(results), "sha256"', '"kabul": len(results) + 1, "sha256"'),
    Mutant("leases outlive their round", "round-ends-leases", "demand(self.live(lease), 409", "demand(self.live(lease) or lease.tur < self.tur, 409"),
    Mutant("older rounds not told", "round-older", 'if row["tur"] < before]', "if row]"),
    Mutant("verdicts end with the round", "round-verdict-stays", "        self.tur, self.began, self.results = self.tur + 1, time.time(), {}\n", "        self.tur, self.began, self.results = self.tur + 1, time.time(), {}\n        for lease in self.leases.values():\n            lease.verdicts = {}\n"),
    Mutant("results wait for ever", "round-fate", 'if lease.tur == self.tur else "birlesti"', 'if True else "birlesti"'),
    Mutant("results of a closed round", "round-closed", "demand(lease.tur == self.tur, 409", "demand(True, 409"),
    Mutant("results summed", "merge-first", "sum(each) / len(results)", "sum(each) / 1"),
    Mutant("no momentum", "merge-momentum", "0.5 * x + y for x, y in zip(self.momentum", "0.0 * x + y for x, y in zip(self.momentum"),
    Mutant("plain momentum", "merge-first", "x + 0.5 * y for x, y in zip(g", "y for x, y in zip(g"),
    Mutant("the run goes on", "run-over", '410, "bitti"', '409, "istek_kullanildi"'),
    Mutant("the last snapshot goes", "run-last-snapshot", "        self.tur, self.began, self.results = self.tur + 1, time.time(), {}\n", "        self.tur, self.began, self.results = self.tur + 1, time.time(), {}\n        if self.tur > self.fields[\"tur_sayisi\"]:\n            del self.files[path]\n"),
    # Over all answers
    Mutant("204 of no version", "all-versions", 'if name != "Content-Length" or status not in (204, 304):', 'if name not in ("Content-Length", "X-Modelen-Protokol") or status not in (204, 304):', ("lease-nothing",)),
    Mutant("conflicts as plain JSON", "all-problems", "'problem+json' if status >= 400", "'problem+json' if status >= 400 and status != 409", ("lease-request-used",)),
    Mutant("an ended request may succeed", "all-codes", '"that lease ended; draw a new istek"', '"that lease ended; draw a new istek", True', ("lease-request-used",)),
    Mutant("busy for no time told", "all-waits", "        demand(place in METHODS, 404", '        Request.answered = getattr(Request, "answered", 0) + 1  # type: ignore[attr-defined]\n        demand(Request.answered != 3, 503, "mesgul", "later", True)\n        demand(place in METHODS, 404', ("file-etag",)),
    Mutant("an unknown task is its mistake", "no-mistake", '404, "gorev_yok", "there is no such task"', '500, "ic_hata", "a mistake", True', ("result-unknown-task",)),
    Mutant("a unit's number for an id", "tasks-unique", "gorev, anahtar = time.time() + self.fields[\"sure\"], *map(secrets.token_hex, (12, 32))", "gorev, anahtar = time.time() + self.fields[\"sure\"], f\"unit-{free[0]}\", secrets.token_hex(32)", ("lease-request-used", "lease-jobs", "lease-fields")),
]  # fmt: skip

# Of the same with ``mod`` sft and labels in its shards.
SFT_MUTANTS = [
    Mutant("no labels", "file-data", "path.read_bytes() for i", 'path.read_bytes().replace(b"labels", b"answer") for i'),
    Mutant("labels of another vocabulary", "file-labels", "path.read_bytes() for i", 'path.read_bytes()[:-4] + b"\\xff\\xff\\0\\0" for i'),
    Mutant("labels for none", "file-labels", "path.read_bytes() for i", 'path.read_bytes()[: -40 * 16 * 4] + 40 * 16 * b"\\x9c\\xff\\xff\\xff" for i'),
]  # fmt: skip

# Of ``fuller_coordinator.py``, which has the optional parts.
FULLER_MUTANTS = [
    # Tokens
    Mutant("200 for a new name", "register-new", '201, {"durum": "onayli" if', '200, {"durum": "onayli" if'),
    Mutant("a pair only once", "register-again", "known = self.tokens.setdefault", 'refuse_unless(asked["isci"] not in self.tokens, 409, "isci_dolu", "taken"); known = self.tokens.setdefault'),
    Mutant("a taken name again", "register-taken", 'refuse_unless(known == asked["belirtec"], 409', "refuse_unless(True, 409"),
    Mutant("short secrets", "register-secret", "{32,128}", "{1,128}"),
    Mutant("names of any kind", "register-name", 'isci="[a-z0-9_-]{3,32}", belirtec', 'isci=".*", belirtec'),
    Mutant("a choice of any kind", "register-listed", 'isinstance(values.get("liste", True), bool)', "True"),
    Mutant("any token fits", "register-foreign", 'refuse_unless(not shown or owner == ask["isci"], 403', "refuse_unless(True, 403"),
    Mutant("tokens of nobody", "register-unknown-token", "refuse_unless(not shown or owner, 403", "refuse_unless(not shown or owner, 401"),
    Mutant("leases of others", "register-lease", "refuse_unless(mine or not owner, 403", "refuse_unless(True, 403"),
    Mutant("leases for token holders only", "register-lease", "mine = not shown or", "mine ="),
    Mutant("registered names for all", "register-protects", 'self.require_token(shown or ask["isci"] not in self.tokens)', "self.require_token(True)"),
    Mutant("copies not noticed", "register-sequence", "refuse_unless(above, 409", "refuse_unless(True, 409"),
    Mutant("repetitions are copies", "register-sequence", '(ask["isci"], ask["istek"]) not in self.leases and "sira" in ask', '"sira" in ask'),
    Mutant("401 without a scheme", "register-bearer", '{"WWW-Authenticate": "Bearer"}', "{}"),
    Mutant("receipts for all", "receipts-stranger", "        self.require_token(name)\n        receipts", '        name = name or "somebody"\n        receipts'),
    Mutant("oldest receipts first", "receipts-newest-first", "in reversed(self.leases.items())", "in self.leases.items()"),
    Mutant("receipts of no size", "receipts-fields", '"boyut": lease.sizes[told]', '"boyut": 0'),
    Mutant("the same page again", "receipts-pages", "first = len(receipts) - int(request.query.get(\"once\", len(receipts)))\n        left = len(receipts) - first - PAGE", "first, left = 0, 1"),
    Mutant("pages overlap", "receipts-pages", 'int(request.query.get("once", len(receipts)))\n        left = len(receipts) - first - PAGE', 'int(request.query.get("once", len(receipts)))\n        left = len(receipts) - first - 1'),
    Mutant("more than a hundred at once", "receipts-hundred", "CHUNK, PAGE = 65536, 100", "CHUNK, PAGE = 65536, 1000"),
    Mutant("the newest hundred alone", "receipts-hundred", '{"once": left} if left > 0 else {}', "{}"),
    Mutant("the first sequence for good", "receipts-sequence", 'self.sequence[ask["isci"]] = ask["sira"]', 'self.sequence.setdefault(ask["isci"], ask["sira"])'),
    # Leases
    Mutant("no limit's Retry-After", "lease-limit", ", True, headers=later)", ", True)"),
    Mutant("a limit for good", "lease-limit", '"one task", True, headers', '"one task", headers'),
    Mutant("nothing to go on with", "progress-answer", '"devam": True, "sure": task["sure"], "son"', '"devam": True, "son"'),
    Mutant("nabiz does not extend", "progress-extends", "        self.extend(lease)\n        before", "        before"),
    Mutant("nabiz extends in words only", "progress-keeps", "        self.extend(lease)\n        before", "        before"),
    Mutant("nabiz of anybody", "progress-key", 'refuse_unless(lease.anahtar == key, 403', "refuse_unless(True, 403"),
    Mutant("nabiz of nothing", "progress-unknown-task", 'refuse_unless(lease, 404, "gorev_yok"', 'refuse_unless(lease, 403, "anahtar_gecersiz"'),
    Mutant("always wanted", "progress-unwanted", '{"devam": False}', '{"devam": True}'),
    Mutant("promises not kept", "progress-promise", "refuse_unless(kept, 422", "refuse_unless(True, 422"),
    Mutant("any progress", "progress-json", 'adim="[0-9]+", ozet', 'adim=".*", ozet'),
    Mutant("another promise", "progress-promise-once", 'refuse_unless(before in ("", lease.promised), 422', "refuse_unless(True, 422"),
    Mutant("the later lease goes on", "expired-later-unwanted", "if not self.live(lease):\n            return 200", "if not lease.open:\n            return 200"),
    # Chunks
    Mutant("200 for a new file", "chunk-announce", 'b"", 201', 'b"", 200'),
    Mutant("201 again", "chunk-announce", "        status = 200\n", "        status = 201\n"),
    Mutant("any announcement", "chunk-json", 'boyut="[1-9][0-9]*", sha256', 'boyut="[0-9]*", sha256'),
    Mutant("tiny chunks", "chunk-announce", "CHUNK, PAGE = 65536", "CHUNK, PAGE = 1024"),
    Mutant("unannounced is unknown", "chunk-not-announced", '409, "duyurulmadi"', '404, "duyurulmadi"'),
    Mutant("a chunk is 200", "chunk-offset", "        return self.offset(lease)\n\n    def offset", '        return 200, b"", self.offset(lease)[2]\n\n    def offset'),
    Mutant("no offset in HEAD", "chunk-head", '{"Upload-Offset": str(len(lease.received))}', '{"Upload-Offset": "0"}'),
    Mutant("begins again each time", "chunk-resume", "if getattr(lease, \"announced\", None) != asked:", "if True:"),
    Mutant("other values go on", "chunk-other-values", 'lease.announced, lease.received, status = asked, b"", 201', 'lease.announced, lease.received, status = asked, getattr(lease, "received", b""), 201'),
    Mutant("any offset", "chunk-wrong-offset", "refuse_unless(fits, 409", "refuse_unless(True, 409"),
    Mutant("the right offset not told", "chunk-wrong-offset", "True, ofset=have)", "True)"),
    Mutant("long chunks", "chunk-too-long", "refuse_unless(len(data) <= CHUNK, 413", "refuse_unless(True, 413"),
    Mutant("beyond the size", "chunk-beyond", "refuse_unless(within, 413", "refuse_unless(True, 413"),
    Mutant("any size announced", "chunk-size-limit", 'refuse_unless(asked["boyut"] <= most, 413', "refuse_unless(True, 413"),
    Mutant("chunks of anybody", "chunk-key", 'refuse_unless(lease.anahtar == key, 403', "refuse_unless(True, 403"),
    Mutant("damage not noticed", "chunk-damaged", 'if found != lease.announced["sha256"]:', "if False:"),
    Mutant("damage for good", "chunk-damaged", '"it arrived damaged", True)', '"it arrived damaged")'),
    Mutant("refused chunks are 200", "chunk-refused", "            lease.verdicts[told] = refused.args\n", "            lease.verdicts[told] = 200, refused.args[1], {}\n"),
    Mutant("chunks do not extend", "chunk-keeps", "        if self.live(lease):\n            self.extend(lease)\n", ""),
    Mutant("expired uploads end", "expired-upload", "        have, data = len(lease.received), request.data\n", '        have, data = len(lease.received), request.data\n        refuse_unless(self.live(lease), 409, "gorev_dolu", "ended")\n'),
    Mutant("the last chunk is 204", "accepted-chunks", "            return self.finish(lease)\n", "            self.finish(lease)\n"),
    Mutant("announced again after the end", "accepted-chunks-again", "        if told in lease.verdicts:\n            return lease.verdicts[told]\n", ""),
]  # fmt: skip

# Of the same coordinator when its run is closed.
CLOSED_MUTANTS = [
    Mutant("approved at once", "closed-register", 'else "bekliyor"', 'else "onayli"'),
    Mutant("closed to all", "closed-public", '"/bilgi", "/durum", "/kayit", "/makbuz"', '"/kayit", "/makbuz"'),
    Mutant("open for strangers", "closed-stranger", "            self.run.demand_approved(self)  # type: ignore[attr-defined]\n", "            pass\n"),
    Mutant("files for strangers", "closed-stranger", '("/bilgi", "/durum", "/kayit", "/makbuz")', '("/bilgi", "/durum", "/kayit", "/makbuz", "/veri")'),
    Mutant("work before approval", "closed-waiting", 'refuse_unless(False, 403, "onay_bekliyor"', 'refuse_unless(True, 403, "onay_bekliyor"'),
    Mutant("waiting is final", "closed-waiting", '"an admin has to approve you", True', '"an admin has to approve you"'),
    Mutant("receipts of a closed run", "closed-receipts", "        self.require_token(name)\n        receipts", '        name = name or "somebody"\n        receipts'),
]  # fmt: skip
