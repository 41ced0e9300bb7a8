"""Faults to put into the coordinators that have encodings, updates and repetitions."""

# One line for each, however long.
# ruff: noqa: E501

from tests.conformance.mutants import Mutant

# Of ``encoding_coordinator.py`` with int8.
ENCODING_MUTANTS = [
    Mutant("encoded results refused", "encoding-taken", 'refuse_unless(tensors.keys() == {"delta"}, 422', "refuse_unless(False, 422"),
    Mutant("ham although another is there", "lease-encoding-offered", "lease.encoding = self.up.id if offered else", 'lease.encoding = "ham" if offered else'),
    Mutant("an encoding nobody offered", "encoding-else-ham", 'lease.encoding = self.up.id if offered else "ham"', "lease.encoding = self.up.id"),
    Mutant("whole files as well", "encoding-whole-refused", 'refuse_unless(tensors.keys() == {"delta"}, 422, "yanlis_kodlama", "no delta")', 'if tensors.keys() != {"delta"}:\n            return super().check(data)'),
    Mutant("another encoding named", "encoding-other-refused", "refuse_unless(told == self.up.id, 422", "refuse_unless(True, 422"),
    Mutant("a longer delta", "encoding-length", 'fits = len(data) == encoded_bytes(self.up, count)', "fits = len(data) >= encoded_bytes(self.up, count)"),
    Mutant("any scale", "encoding-scale", '                refuse_unless(False, 400, "bozuk_dosya", str(error))', "                chunk[:] = 0"),
    Mutant("a byte of -128", "encoding-minus-128", '                refuse_unless(False, 400, "bozuk_dosya", str(error))', "                chunk[:] = 0"),
    Mutant("any length of step", "encoding-norm", "refuse_unless(norm <= most, 422", "refuse_unless(True, 422"),
    Mutant("deltas halved", "merge-encoded", "+ self.decode(tensors", "+ 0.5 * self.decode(tensors"),
    Mutant("deltas from the second weight on", "merge-encoded", "+ self.decode(tensors[\"delta\"][2])", "+ np.roll(self.decode(tensors[\"delta\"][2]), 1)"),
]  # fmt: skip
INT4_MUTANTS = [
    Mutant("four bits of zero", "encoding-four-bits", '                refuse_unless(False, 400, "bozuk_dosya", str(error))', "                chunk[:] = 0"),
]  # fmt: skip
TOPK_MUTANTS = [
    Mutant("positions in any order", "encoding-positions", '                refuse_unless(False, 400, "bozuk_dosya", str(error))', "                chunk[:] = 0"),
]  # fmt: skip
BF16_MUTANTS = [
    Mutant("encoded infinity", "encoding-not-finite", "refuse_unless(np.isfinite(values).all(), 422", "values = np.nan_to_num(values, posinf=0); refuse_unless(True, 422"),
]  # fmt: skip
UPDATE_MUTANTS = [
    Mutant("from another snapshot", "update-offered", 'update = {"tur": lease.tur - 1, "kodlama"', 'update = {"tur": lease.tur, "kodlama"'),
    Mutant("another update's digest", "update-file", "body |= {\"fark\": self.file_ref(path) | update}", 'body |= {"fark": self.file_ref(path) | update | {"sha256": "0" * 64}}'),
    Mutant("updates without ranges", "update-served", "    fark = FullRun.file\n", '    def fark(self, request: Request) -> Answer:\n        request.headers.replace_header("Range", "") if "Range" in request.headers else None\n        return self.file(request)\n'),
    Mutant("publishes what was not sent", "update-leads", "self.publish(array(\"f\", (before + moved).tobytes()), data)", "self.publish(self.weights, data)"),
    Mutant("the first snapshot's header", "update-leads", '"tur": str(self.tur)}\n', '"tur": "1"}\n'),
    Mutant("updates for all", "update-not-held", 'if getattr(lease, "held", None) == lease.tur - 1 and path', "if path"),
    Mutant("an update to the first", "update-none", "        self.up, self.down =", '        self.files["/fark?tur=1"] = b"x"\n        self.up, self.down ='),
]  # fmt: skip

# Of ``repeating_coordinator.py`` in a run of three rounds.
REPEATING_MUTANTS = [
    Mutant("another shard to repeat", "verify-lease", 'body |= {"is": JOB, "hedef": hedef}', 'body |= {"is": JOB, "hedef": hedef | {"tohum": 99}, "tohum": 99}'),
    Mutant("copies that differ", "verify-copy", 'body |= {"is": JOB, "hedef": hedef}', 'body |= {"is": JOB, "hedef": hedef, "lr": 0.5}'),
    Mutant("the author's task told", "verify-nothing-told", 'body |= {"is": JOB, "hedef": hedef}', 'body |= {"is": JOB, "hedef": hedef, "yazar": lease.target.gorev}'),
    Mutant("neighbours repeat", "verify-others", "parties = {lease.address, *(one.address", "parties = {*(one.address"),
    Mutant("under check is left out", "verify-waits", "            self.pending.append(lease)\n", '            self.pending.append(lease)\n            lease.fate = {"durum": "denetlenemedi"}\n'),
    Mutant("merged before the verdict", "verify-waits", "        if not self.pending:\n            super().merge()", "        super().merge()"),
    Mutant("repetitions refused", "verify-accepted", 'told = {"kabul": True, "gorev": lease.gorev', 'told = {"kabul": True, "gorev": lease.target.gorev'),
    Mutant("repetitions wait", "verify-used", '{"durum": "kullanildi"}', '{"durum": "bekliyor"}'),
    Mutant("an agreeing one condemns", "verify-agrees", "        if self.agree(vector, target.vector):\n            self.settle(target)\n", '        if self.agree(vector, target.vector):\n            target.fate = {"durum": "elendi", "kod": "dogrulama_tutmadi"}\n            self.settle(target)\n'),
    Mutant("one repetition decides", "dispute-goes-on", "elif any(self.agree(vector, other) for other in others):", "elif True:"),
    Mutant("one address twice", "dispute-goes-on", "*(one.address for one, _ in lease.said)", "*()"),
    Mutant("no reason told", "dispute-lost", '"kod": "dogrulama_tutmadi"}\n', '"kod": "baska"}\n'),
    Mutant("a shard is lost", "dispute-frees", "            del self.results[target.parca]\n", ""),
    Mutant("the author is always right", "dispute-lost", '            target.fate = {"durum": "elendi", "kod": "dogrulama_tutmadi"}\n            del self.results[target.parca]\n', ""),
]  # fmt: skip

# Of ``measuring_coordinator.py``.
MEASURING_MUTANTS = [
    Mutant("nothing to measure", "measure-lease", 'aday = [{"adaptor"', 'aday = [] and [{"adaptor"'),
    Mutant("another job", "measure-lease", '"aday": aday, "veri": self.file_ref(path)}', '"aday": aday, "veri": None}'),
    Mutant("tokens miscounted", "measure-data", 'told = {"token": str(self.predicted)', 'told = {"token": str(self.predicted + rows)'),
    Mutant("held-out text for all", "measure-files", "self.caller(request) in (None, holder)", "True"),
    Mutant("held-out text without a lease", "measure-files", '        refuse_unless(may and request.path in self.files, 404, "yok", "for whoever measures")\n', '        if not holder:\n            return 200, self.held_out, {}\n        refuse_unless(may, 404, "yok", "for whoever measures")\n'),
    Mutant("any loss", "measure-refused", "right = 0 <= loss <= 1e6", "right = True"),
    Mutant("tokens not compared", "measure-refused", "refuse_unless(right and counted, 400", "refuse_unless(right, 400"),
    Mutant("measurements refused", "measure-taken", "right = 0 <= loss <= 1e6", "right = False"),
    Mutant("measurements wait", "measure-used", '{"durum": "kullanildi"}', '{"durum": "bekliyor"}'),
    Mutant("bits a token", "measure-told", "loss * self.predicted / math.log(2) / self.predicted_bytes", "loss / math.log(2)"),
]  # fmt: skip

# Of ``judging_coordinator.py``.
JUDGING_MUTANTS = [
    Mutant("results alone", "judge-pairs", "= [before, after]", "= [after, after]"),
    Mutant("pairs on two shards", "judge-pairs", "found += [before | on, after | on]", "found += [before | on, after]"),
    Mutant("another shard twice", "judge-shards", "for shard in (lease.parca, (lease.parca + 1)", "for shard in ((lease.parca + 1) % self.fields[\"n_parca\"], (lease.parca + 1)"),
    Mutant("on held-out text alone", "judge-shards", "        return found\n", "        return found[:2]\n"),
    Mutant("the snapshot for the result", "judge-result", "lease.target.vector.tobytes()", "self.weights.tobytes()"),
    Mutant("neighbours measure", "judge-others", "    job = JOB\n", '    job = JOB\n\n    def to_repeat(self, address: str) -> Lease | None:\n        return self.pending[0] if self.pending else None\n'),
    Mutant("plausible is left out", "judge-plausible", "            self.settle(target)\n        elif", '            target.fate = {"durum": "elendi", "kod": "olcum_tutmadi"}\n            self.settle(target)\n        elif'),
    Mutant("one decides", "judge-second", "elif len(target.said) > 1:", "else:"),
    Mutant("another reason", "judge-implausible", '"kod": "olcum_tutmadi"', '"kod": "dogrulama_tutmadi"'),
    Mutant("losses not looked at", "judge-implausible", "if own > 0 and own >= 0.75 * other and -held <= 0.1 * losses[0]:", "if len(target.said) > 1:"),
]  # fmt: skip

# Of ``preparing_coordinator.py``.
PREPARING_MUTANTS = [
    Mutant("text for anybody", "text-unseen", '        refuse_unless(may_see, 403, "onay_bekliyor", "an admin has to let you see text", True)\n', ""),
    Mutant("nobody is told why", "text-unseen", '        refuse_unless(may_see, 403, "onay_bekliyor", "an admin has to let you see text", True)\n', "        if not may_see:\n            return 204, {}, {}\n"),
    Mutant("text without a lease", "text-files", '        refuse_unless(lease and holder == self.caller(request), 404, "yok", "for its holder")\n', "        if not lease:\n            return 200, TEXT, {}\n"),
    Mutant("text for whoever knows where", "text-holder", "lease and holder == self.caller(request), 404", "lease, 404"),
    Mutant("text after the lease", "text-holder", '        refuse_unless(lease and self.live(lease), 404, "yok", "its time is over")\n', ""),
    Mutant("text with a snapshot", "text-lease", '            del body["adaptor"], body["veri"]\n', '            del body["veri"]\n'),
    Mutant("rules of its own", "text-lease", '"temizlik": "v1"', '"temizlik": "v0"'),
    Mutant("the digest of another tokenizer", "text-sizes", "        self.prepared = False\n", '        self.prepared = False\n        self.fields["belirtec_sha256"] = "0" * 64\n'),
    Mutant("ids of no token", "text-refused", '        refuse_unless(within, 400, "bozuk_dosya", "an id outside the vocabulary")\n', ""),
    Mutant("rows of another tokenizer", "text-refused", '        refuse_unless(same, 400, "bozuk_dosya", "of another tokenizer")\n', ""),
    Mutant("more rows than the text has", "text-refused", '        refuse_unless(n * seq <= 3 * len(TEXT), 422, "yanlis_sekil", "more than the text can give")\n', ""),
    Mutant("labels are taken", "text-refused", '        refuse_unless(len(tensors) == 1, 422, "fazla_tensor", "input_ids only")\n', ""),
    Mutant("no rows are refused", "text-taken", "        seq = self.fields[\"seq\"]\n", "        seq = self.fields[\"seq\"]\n        refuse_unless(n, 400, \"bozuk_dosya\", \"nothing in it\")\n"),
    Mutant("text waits for ever", "text-used", 'lease.fate, self.prepared = {"durum": "kullanildi"}, True', 'self.prepared = True'),
]  # fmt: skip
