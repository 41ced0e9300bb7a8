"""Rules for every request: version, problems, methods, JSON bodies."""

from worker_client.conformance.bench import Bench
from worker_client.conformance.check import demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import expect, expect_status
from worker_client.contract import MAX_JSON_BYTES, PROTOCOL_HEADER
from worker_client.contract.errors import Refusal

NAME, REQUEST_ID = "suite-nobody", "0123456789abcdef" * 2


@check(
    "problem-members",
    "Errors are `application/problem+json` (RFC 9457) with `type`, `title`, `status`, `detail`, "
    "`kod`, and `tekrar`",
)
def problem_members(bench: Bench) -> None:
    reply = bench.http.send(
        "GET", "/sonuc?gorev=suite-no-such-task", headers={"X-Modelen-Anahtar": "k" * 32}
    )
    kind = reply.headers.get("Content-Type", "").split(";")[0]
    demand(kind == "application/problem+json", f"{reply} is {kind or 'of no type'}")
    kinds = {"type": str, "title": str, "status": int, "detail": str, "kod": str, "tekrar": bool}
    wrong = [name for name, kind in kinds.items() if not isinstance(reply.json.get(name), kind)]
    demand(not wrong, f"{reply} lacks {', '.join(wrong)}, or they are of another type")
    said = reply.json["status"]
    demand(said == reply.status, f"{reply} says status {said} in its body")
    demand(reply.json["detail"].strip(), f"{reply} has an empty detail")


@check("unknown-path", "what does not exist is 404 `yok`")
def unknown_path(bench: Bench) -> None:
    bench.demand_open()
    expect(bench.http.send("GET", "/suite-no-such-place"), Refusal.NOT_FOUND)


@check("wrong-method", "a wrong method is 405 `yontem_yok` with `Allow`")
def wrong_method(bench: Bench) -> None:
    wrong = (("DELETE", "/durum", "GET"), ("GET", "/gorev", "POST"), ("POST", "/adaptor", "GET"))
    # Elsewhere a closed run may ask for the token first.
    for method, path, right in wrong[: 1 if bench.is_closed else None]:
        reply = expect(bench.http.send(method, path), Refusal.METHOD_NOT_ALLOWED)
        allowed = [word.strip() for word in reply.headers.get("Allow", "").split(",")]
        demand(right in allowed, f"{reply} has Allow: {allowed}, without {right}")


@check("json-wrong", "A JSON body that is not what an endpoint takes is 400 `gecersiz_istek`")
def json_wrong(bench: Bench) -> None:
    bench.demand_open()
    bodies: list[object] = [
        b"",
        b"\xff\xfe",
        b'{"isci": ',
        b"[" * 30_000,
        [],
        "text",
        {"istek": REQUEST_ID},
        {"isci": NAME},
        {"isci": "NoCapitals", "istek": REQUEST_ID},
        {"isci": "ab", "istek": REQUEST_ID},
        {"isci": NAME, "istek": REQUEST_ID[:-1]},
        {"isci": NAME, "istek": REQUEST_ID.upper()},
        {"isci": 12345, "istek": REQUEST_ID},
    ]
    for body in bodies:
        reply = bench.http.send("POST", "/gorev", json=body)
        demand(reply.status != 200, f"a task was leased for {str(body)[:60]!r}")
        expect(reply, Refusal.BAD_REQUEST)


@check("json-size", "JSON bodies are UTF-8, at most 64 KiB")
def json_size(bench: Bench) -> None:
    bench.demand_open()
    start, end = f'{{"isci": "{NAME}", "istek": "{REQUEST_ID}", "dolgu": "'.encode(), b'"}'
    body = start + b"x" * (MAX_JSON_BYTES + 1 - len(start) - len(end)) + end
    headers = {"Content-Length": str(len(body)), "Content-Type": "application/json"}
    reply = bench.http.raw("POST", "/gorev", headers, [body])
    if reply is None:
        return  # cut off: not taken either
    expect_status(reply, 400, 413)


@check("unknown-fields", "Both sides ignore fields they don't know.")
def unknown_fields(bench: Bench) -> None:
    reply = bench.ask(bench.volunteer(), suite_new={"deep": [1, 2]}, cihaz={"suite": "x"})
    expect_status(reply, 200, 204)


@check(
    "version-told",
    "Requests carry `User-Agent` and `X-Modelen-Protokol: 1` (absent means 1); answers carry it "
    "too.",
)
def version_told(bench: Bench) -> None:
    requests = [("GET", "/durum"), ("GET", "/suite-no-such-place"), ("DELETE", "/durum")]
    for method, path in requests:
        reply = bench.http.send(method, path)
        said = reply.headers.get(PROTOCOL_HEADER)
        demand(said == "1", f"{reply} has {PROTOCOL_HEADER}: {said}")


@check("version-absent", "(absent means 1)")
def version_absent(bench: Bench) -> None:
    expect_status(bench.http.send("GET", "/durum", headers={PROTOCOL_HEADER: None}), 200)


@check(
    "version-unknown",
    "An unknown major version is answered 400 `protokol_desteklenmiyor` with `desteklenen` (list)",
)
def version_unknown(bench: Bench) -> None:
    paths = (("GET", "/durum"), ("POST", "/gorev"))
    for method, path in paths[: 1 if bench.is_closed else None]:
        body = {"isci": NAME, "istek": REQUEST_ID} if method == "POST" else None
        reply = bench.http.send(method, path, json=body, headers={PROTOCOL_HEADER: "99"})
        known = expect(reply, Refusal.UNSUPPORTED_PROTOCOL).json.get("desteklenen")
        demand(isinstance(known, list) and 1 in known, f"{reply} has desteklenen {known!r}")
