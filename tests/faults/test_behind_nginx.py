"""Two uvicorn processes over one database, directly and behind nginx, at a path, as people run them."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fault_size import size
from preview_form import preview_form
from running_page import RunningPage, free_port, running_page, running_uvicorn

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

pytestmark = pytest.mark.slow
TOKEN = "a token of the owner"
TABLE = b"shoe,price,weight\n" + b"".join(
    f"Shoe {i},{60 + 7 * (i * 5 % 11)},{200 + 13 * (i * 3 % 7)}\n".encode() for i in range(12)
)
APP = """
import os
from coombs.web import create_app

app = create_app(os.environ["URL"], token=os.environ["COOMBS_TOKEN"], allowed_hosts=["taste.example.org"],
                 root_path=os.environ["ROOT"], proxies=["127.0.0.1"])
"""
NGINX = """
daemon off;
error_log {folder}/error.log;
pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 10m;
    server {{
        listen 127.0.0.1:{port};
        location /taste/ {{
            proxy_pass http://127.0.0.1:{page}{cut};
            {headers}
        }}
    }}
}}
"""
SET = """proxy_set_header Host $host:$server_port;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;"""
FORWARDED_HOST = "proxy_set_header X-Forwarded-Host taste.example.org;"


def work(address: str, root: str, host: str | None = None, name: str = "shoes") -> None:
    """Upload, make a study, answer and log out, each request on a connection of its own."""
    host = host or address.removeprefix("http://")
    cookies: dict[str, str] = {}

    def ask(method: str, path: str, **sent: object) -> httpx.Response:
        known = {"Origin": f"http://{host}", "Connection": "close"}
        jar = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}
        # From an address of its own, as wrong tokens are counted by address.
        transport = httpx.HTTPTransport(local_address=f"127.0.0.{2 + len(name)}")
        with httpx.Client(trust_env=False, timeout=60, transport=transport) as client:
            reply = client.request(method, f"{address}{path}", headers={**known, **jar}, **sent)
        cookies.update(reply.cookies)
        return reply

    assert ask("POST", f"{root}/login", data={"token": TOKEN}).headers["location"] == f"{root}/"
    page = ask("GET", f"{root}/").text
    for style in re.findall(r'(?:href|src)="([^"]+static[^"]+)"', page):
        assert style.startswith(root) and ask("GET", style).status_code == 200
    draft = ask("POST", f"{root}/drafts", files={"file": ("shoes.csv", TABLE)}).headers["location"]
    # Whichever process answers, the upload is there.
    pages = [ask("GET", draft) for _ in range(12)]
    assert {one.status_code for one in pages} == {200}
    data = preview_form(pages[0].text, name=name, create="yes")
    study = ask("POST", draft, data=data).headers["location"]
    question = ask("POST", f"{study}/answer").headers["location"]
    assert f"http://{host}{question}" in ask("GET", study).text
    for count in range(1, size(6, 40)):
        page = ask("GET", question).text
        (number,) = re.findall(r'name="question" value="(\d+)"', page)
        (tell,) = re.findall(r'action="([^"]+/tell)"', page)
        assert ask("POST", tell, data={"question": number, "choice": "left"}).headers["location"] == question
        progress = ask("GET", f"{root}/api/respondents/{question.rpartition('/')[2]}/progress").json()
        assert progress["n_answers"] == count
    session = dict(cookies)
    ask("POST", f"{root}/logout")
    cookies.update(session)
    # The session has ended in both processes.
    assert {ask("GET", f"{root}/").status_code for _ in range(4)} == {401}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPage]:
    """Two processes of uvicorn over one database, below a path."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "page.py").write_text(APP)
    known = {"URL": f"sqlite:///{folder / 'two.db'}", "COOMBS_TOKEN": TOKEN, "ROOT": "/taste"}
    options = ("--workers", "2", "--no-proxy-headers", "--http", "coombs.web.connections:BoundedProtocol")
    with running_uvicorn(folder, "page:app", *options, **known) as made:
        yield made


@contextmanager
def nginx(folder: Path, page: int, cut: str, headers: str) -> Iterator[str]:
    """A proxy in front of a page; its address."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed; on Debian type: sudo apt-get install nginx-light")
    port, file = free_port(), folder / "nginx.conf"
    file.write_text(NGINX.format(folder=folder, port=port, page=page, cut=cut, headers=headers))
    process = subprocess.Popen([program, "-p", str(folder), "-c", str(file)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                httpx.get(f"http://127.0.0.1:{port}/", trust_env=False)
                break
            except httpx.TransportError:
                assert process.poll() is None, (folder / "error.log").read_text()
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def test_two_processes_share_uploads_and_sessions(page: RunningPage) -> None:
    work(page.address, "/taste")
    log = page.log.read_text()
    # uvicorn logs requests unless told otherwise, here without what opens a page.
    assert '"GET /taste/a/... HTTP' in log and "/drafts/..." in log and "Traceback" not in log


@pytest.mark.parametrize(
    ("name", "cut", "headers", "host"),
    [
        ("path cut off", "/", SET, None),
        ("path kept", "", SET, None),
        ("own host", "/", FORWARDED_HOST, "taste.example.org"),
    ],
)
def test_behind_nginx_at_a_path(
    page: RunningPage, tmp_path: Path, name: str, cut: str, headers: str, host: str | None
) -> None:
    with nginx(tmp_path, page.port, cut, headers) as address:
        work(address, "/taste", host, name)


def test_serve_behind_nginx_by_its_options(tmp_path: Path) -> None:
    options = (
        "--root-path",
        "/taste",
        "--proxy",
        "127.0.0.1",
        "--allow-host",
        "taste.example.org",
        "--access-log",
    )
    with (
        running_page(tmp_path, *options, COOMBS_TOKEN=TOKEN) as page,
        nginx(tmp_path, page.port, "/", FORWARDED_HOST) as address,
    ):
        work(address, "/taste", "taste.example.org")
        said = page.log.read_text()
    assert f"coombs is at {page.address}/taste/\n" in said and TOKEN not in said
    assert "/a/..." in said and not re.search(r"/a/\w", said)


def test_a_token_is_made_and_shown_once_where_others_can_reach_the_page(tmp_path: Path) -> None:
    with running_page(tmp_path, "--host", "0.0.0.0") as page:
        (link,) = re.findall(r"coombs is at (\S+)", page.log.read_text())
        token = link.partition("?token=")[2]
        assert len(token) >= 32
        assert httpx.get(page.address, trust_env=False).status_code == 401
        entered = httpx.get(f"{page.address}/?token={token}", trust_env=False)
        assert entered.status_code == 303 and token not in entered.headers["set-cookie"]
        # Not in the list of processes.
        commands = [one.read_bytes() for one in Path("/proc").glob("[0-9]*/cmdline") if one.exists()]
        assert not any(token.encode() in one for one in commands)
