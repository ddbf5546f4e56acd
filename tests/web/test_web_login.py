"""The way in and out with a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench_making import TOKEN, csrf_of, log_in, serving

PAGE = {"accept": "text/html"}


def test_who_logs_in_with_the_token_may_enter_and_who_logs_out_may_not(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as client:
        assert client.get("/openapi.json").status_code == 401
        log_in(client)
        assert client.get("/openapi.json").status_code == 200
        kept = client.cookies["krino_session_8321"]
        page = client.get("/nowhere", headers=PAGE)
        assert client.post("/logout", data={"csrf": csrf_of(page.text)}).status_code == 303
        assert client.get("/openapi.json").status_code == 401
        client.cookies.set("krino_session_8321", kept)
        assert client.get("/openapi.json").status_code == 401


def test_a_wrong_token_is_told_and_opens_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as client:
        page = client.get("/login", headers=PAGE)
        sent = client.post("/login", data={"token": TOKEN + "x", "csrf": csrf_of(page.text)})
        assert sent.status_code == 401
        assert "Wrong token" in sent.text
        assert "krino_session_8321" not in client.cookies


def test_a_browser_is_sent_to_the_login_page_and_back_to_where_it_wanted(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as client:
        sent = client.get("/runs/a b?status=ok&q=%22", headers=PAGE)
        assert sent.status_code == 303
        page = client.get(sent.headers["location"], headers=PAGE)
        assert 'value="/runs/a%20b?status=ok&amp;q=%22"' in page.text


@pytest.mark.parametrize(
    "address", ["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil", "/a\nb", "javascript:x", ""]
)
def test_the_login_page_leads_to_no_other_site(tmp_path: Path, address: str) -> None:
    with serving(tmp_path, token=TOKEN) as client:
        page = client.get("/login", params={"next": address}, headers=PAGE)
        data = {"token": TOKEN, "csrf": csrf_of(page.text), "next": address}
        assert client.post("/login", data=data).headers["location"] == "/"
