"""Every guard on every route: each of these would let something through if its guard were not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from krino.errors import UsageProblem
from krino.web.security import HEADERS, OPEN_PATHS
from krino.web.settings import ServeSettings
from made_runs import make_run, row
from workbench_making import HOST, TOKEN, app_of, csrf_of, log_in, routes_of, serving

PAGE = {"accept": "text/html"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A workbench on loopback that needs no token."""
    with serving(_runs(tmp_path_factory)) as client:
        yield client


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A workbench that wants a token."""
    with serving(_runs(tmp_path_factory), token=TOKEN) as client:
        yield client


def _runs(folders: pytest.TempPathFactory) -> Path:
    """A run `1` with a case `1`, so that paths whose parameters are all 1 lead to pages and not to their absence."""
    runs = folders.mktemp("runs")
    make_run(runs / "1", [row("1", score=0.5), row("2", score=1.0)])
    return runs


# --- where it may listen -----------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", "127.0.0.1.evil.example", ""])
def test_an_address_that_others_reach_is_refused_without_a_token(tmp_path: Path, host: str) -> None:
    with pytest.raises(UsageProblem, match="token"):
        ServeSettings(runs=tmp_path, host=host)
    assert ServeSettings(runs=tmp_path, host=host, token=TOKEN).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_loopback_needs_no_token(tmp_path: Path, host: str) -> None:
    assert ServeSettings(runs=tmp_path, host=host).token is None


@pytest.mark.parametrize("token", ["", "short", "x" * 15, "x" * 20 + " ", "x" * 20 + "\n", "é" * 20])
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(UsageProblem, match="token"):
        ServeSettings(runs=tmp_path, token=token)


def test_secrets_are_not_shown_with_the_settings(tmp_path: Path) -> None:
    shown = repr(ServeSettings(runs=tmp_path, token=TOKEN, database="postgresql://u:hunter2@db/x"))
    assert TOKEN not in shown
    assert "hunter2" not in shown


# --- who may enter -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"cookie": f"krino_session_8321={TOKEN}"},
        {"cookie": "krino_session_8321=0.x." + "0" * 64},
        {"cookie": "krino_session_8321=\u00e9"},
        {"x-forwarded-for": "127.0.0.1"},
    ],
)
def test_no_route_but_the_open_ones_lets_in_who_does_not_know_the_token(
    locked: TestClient, headers: dict[str, str]
) -> None:
    sent = {name.encode(): value.encode() for name, value in headers.items()}
    for method, path in routes_of(app_of(locked)):
        if path in OPEN_PATHS or path.startswith("/static/"):
            continue
        assert locked.request(method, path, headers=sent).status_code == 401, (method, path)
        assert locked.request(method, f"{path}?token={TOKEN}", headers=sent).status_code == 401, (method, path)
        page = locked.request(method, path, headers={**sent, b"accept": b"text/html"})
        assert page.status_code in (303, 401)
        assert page.headers.get("location", "/login?").startswith("/login?"), (method, path)


def test_who_knows_the_token_is_let_in_everywhere(locked: TestClient) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    for method, path in routes_of(app_of(locked)):
        if path != "/logout":
            assert locked.request(method, path, headers=headers).status_code not in (401, 403), (method, path)


def test_a_path_that_only_looks_open_is_not(locked: TestClient) -> None:
    for path in ("/static/../openapi.json", "/health/../metrics", "/login/", "/healthz", "//static/x", "/static"):
        answer = locked.get(path)
        assert answer.status_code in (401, 404), path
        assert "openapi" not in answer.text


# --- under which name ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8321",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "localhost@evil.example",
        "evil.example#localhost",
        "localhost evil.example",
        "192.168.1.7",
        "[::2]",
        "2130706433",
        "0.0.0.0",
        "",
    ],
)
def test_no_route_answers_under_a_name_that_is_not_its_own(free: TestClient, host: str) -> None:
    for method, path in routes_of(app_of(free)):
        answer = free.request(method, path, headers={"host": host})
        assert answer.status_code == 421, (method, path)
        assert method == "HEAD" or "--allow-host" in answer.json()["remedy"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8321", "127.0.0.1:9", "[::1]:8321", "localhost."])
def test_loopback_names_are_served_whatever_the_port(free: TestClient, host: str) -> None:
    assert free.get("/health", headers={"host": host}).status_code == 200


def test_who_serves_others_answers_to_addresses_and_to_names_that_were_allowed(tmp_path: Path) -> None:
    with serving(tmp_path, host="0.0.0.0", token=TOKEN, allow_hosts=("Krino.example",)) as client:
        for host in ("192.168.1.7:8321", "krino.example", "[fe80::1]"):
            assert client.get("/health", headers={"host": host}).status_code == 200, host
        assert client.get("/health", headers={"host": "evil.example"}).status_code == 421


# --- whose request it is -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"origin": "http://localhost:8321.evil.example"},
        {"origin": "http://evil.example/localhost:8321"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded", "text/plain"])
def test_no_route_takes_a_change_from_a_page_of_another_site(
    free: TestClient, headers: dict[str, str], kind: str
) -> None:
    token = csrf_of(_form_page(free))
    for method, path in _changing(free):
        sent = {**headers, "content-type": kind, "x-csrf-token": token}
        assert free.request(method, path, headers=sent, content="{}").status_code == 403, (method, path)


def test_no_route_takes_a_form_that_is_not_from_one_of_our_pages(free: TestClient) -> None:
    token, other = csrf_of(_form_page(free)), "0" * 64
    bodies = ["", "csrf=", f"csrf={other}", f"CSRF={token}", f"csrf={other}&csrf={token}", f'{{"csrf": "{token}"}}']
    for path in {path for method, path in _changing(free) if method == "POST"}:
        for body in bodies:
            assert free.post(path, content=body, headers=FORM).status_code == 403, (path, body)
        for kind in ("text/plain", "multipart/form-data; boundary=x", "application/json2", ""):
            assert free.post(path, content=f"csrf={token}", headers={"content-type": kind}).status_code == 403, path
        assert free.post(path, content=f"csrf={token}", headers=FORM).status_code != 403, path
        assert free.post(path, headers={"x-csrf-token": token}).status_code != 403, path


def test_a_form_token_is_worth_nothing_to_another_browser(free: TestClient) -> None:
    token = csrf_of(_form_page(free))
    stolen = {**FORM, "cookie": "krino_visit_8321=" + "a" * 32}
    other = TestClient(app_of(free), base_url=HOST, follow_redirects=False)
    assert other.post("/logout", content=f"csrf={token}", headers=stolen).status_code == 403


def test_a_session_alone_changes_nothing_without_the_token_of_a_form(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as client:
        log_in(client)
        assert client.post("/logout", headers=FORM).status_code == 403
        assert client.get("/openapi.json").status_code == 200


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as client:
        page = client.get("/login", headers=PAGE)
        sent = client.post("/login", data={"token": TOKEN, "csrf": csrf_of(page.text)})
        cookies = [*page.headers.get_list("set-cookie"), *sent.headers.get_list("set-cookie")]
        assert len(cookies) == 2
        for cookie in cookies:
            assert "HttpOnly" in cookie
            assert "SameSite=Lax" in cookie
            assert "Secure" not in cookie
        client.base_url = "https://localhost"
        client.cookies.clear()
        assert "; Secure" in client.get("/login", headers=PAGE).headers["set-cookie"]


# --- what a browser is told ----------------------------------------------------------------------------


def test_every_answer_of_every_route_tells_the_browser_what_it_must_not_do(locked: TestClient) -> None:
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for method, path in routes_of(app_of(locked)):
        for headers in ({}, PAGE, {"authorization": f"Bearer {TOKEN}"}, {"host": "evil.example"}):
            answer = locked.request(method, path, headers=headers)
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, (method, path, headers)
            assert answer.headers["cache-control"] in ("no-store", "no-cache"), (method, path)
            assert "access-control-allow-origin" not in answer.headers


def test_no_page_loads_anything_from_elsewhere(locked: TestClient) -> None:
    headers, pages = {**PAGE, "authorization": f"Bearer {TOKEN}"}, 0
    for method, path in routes_of(app_of(locked)):
        answer = locked.request(method, path, headers=headers)
        if answer.headers.get("content-type", "").startswith("text/html"):
            pages += answer.status_code == 200
            for dress in ('src="http', 'href="http', "src='http", "//cdn", "<script>", " style=", " onclick", "<style"):
                assert dress not in answer.text, (method, path, dress)
    assert pages > 5


# --- errors -------------------------------------------------------------------------------------------


def test_every_refusal_has_the_one_shape(free: TestClient) -> None:
    def broken() -> None:
        raise RuntimeError("a secret of the server")

    app_of(free).add_api_route("/v1/broken", broken)
    json = {"content-type": "application/json"}
    asked = {
        404: free.get("/v1/nothing"),
        405: free.delete("/v1/runs"),
        413: free.post("/v1/judge/rag", content=b" " * 10_000_001, headers=json),
        421: free.get("/health", headers={"host": "evil.example"}),
        422: free.post("/v1/judge/rag", content=b"{", headers=json),
        403: free.post("/v1/judge/rag", content=b"{", headers=FORM),
        500: free.get("/v1/broken"),
    }
    for status, answer in asked.items():
        assert answer.status_code == status, answer.text
        assert answer.json().keys() == {"error", "where", "remedy"}
        assert all(answer.json().values()), answer.text
        assert "secret" not in answer.text
    assert asked[405].headers["allow"] == "GET"
    assert free.put("/v1/labels").headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    "body",
    [
        b'{"\\ud800": 1}',
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"\xff",
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b'{"a": "\x00"}',
        b"",
        b"null",
    ],
)
def test_no_route_breaks_on_text_that_is_almost_json(free: TestClient, body: bytes) -> None:
    for method, path in _changing(free):
        if path.startswith("/v1/"):
            answer = free.request(method, path, content=body, headers={"content-type": "application/json"})
            assert answer.status_code in (404, 422), (method, path, answer.text)
            assert answer.json().keys() == {"error", "where", "remedy"}


def test_a_refusal_is_a_page_to_a_browser_and_what_was_asked_for_is_escaped(free: TestClient) -> None:
    answer = free.get("/<script>alert(1)</script>", headers=PAGE)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;" in answer.text


# --- inside -------------------------------------------------------------------------------------------


def _form_page(client: TestClient) -> str:
    return client.get("/try", headers=PAGE).text


def _changing(client: TestClient) -> list[tuple[str, str]]:
    found = [(method, path) for method, path in routes_of(app_of(client)) if method not in ("GET", "HEAD")]
    assert found
    return found
