"""The load over TLS: whom it trusts, what it shows of itself, and that hanging up works there too."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme

from probes.load.closed_loop import ClosedLoop
from probes.load.records import Ending, RequestRecord
from probes.values import Target
from tests.support.http_server import LoopbackServer, Reply, script
from tests.support.loads import STREAM, Numbers, on_both_loops, one_client, records_of, run_on, serving
from tests.support.waiting import until

OK = Reply(body=STREAM)


@dataclass(frozen=True)
class Papers:
    """Certificates of one test."""

    folder: Path
    ca: trustme.CA
    server: ssl.SSLContext

    @property
    def ca_file(self) -> str:
        return self._pem("ca.pem", self.ca.cert_pem)

    def client(self) -> dict[str, str]:
        """A client certificate that the server's authority signed, and its key."""
        made = self.ca.issue_cert("probe@example.org")
        chain = made.cert_chain_pems[0]
        return {"client_cert": self._pem("c.pem", chain), "client_key": self._pem("k.pem", made.private_key_pem)}

    def _pem(self, name: str, blob: trustme.Blob) -> str:
        path = self.folder / name
        blob.write_to_path(path)
        return str(path)


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    """A server for 127.0.0.1 and localhost, signed by an authority that nobody knows."""
    ca = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return Papers(tmp_path, ca, context)


async def first_record(papers: Papers, host: str = "127.0.0.1", **target: Any) -> RequestRecord:
    async with LoopbackServer(script([OK]), tls=papers.server) as server:
        (record,) = await records_of(one_client(f"https://{host}:{server.port}", **target))
    return record


@on_both_loops
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_of_the_given_authority_is_trusted(papers: Papers, host: str, new_loop: Any) -> None:
    async def scene() -> None:
        async with LoopbackServer(script([OK]), tls=papers.server) as server:
            loop = one_client(f"https://{host}:{server.port}", ca_file=papers.ca_file)
            for record in await records_of(loop, 4):
                assert (record.error, record.output_tokens) == ("", 2)
                assert record.sent_s is not None
                assert record.first_s is not None
                assert record.launched_s <= record.sent_s <= record.first_s
            assert {request.connection for request in server.requests} == {0}

    run_on(new_loop, scene())


async def test_the_servers_name_is_sent_for_servers_with_several(papers: Papers) -> None:
    named: list[str | None] = []
    papers.server.sni_callback = lambda _socket, name, _context: named.append(name)
    assert (await first_record(papers, "localhost", ca_file=papers.ca_file)).error == ""
    assert named == ["localhost"]


@on_both_loops
def test_an_unknown_authority_is_refused_in_words(papers: Papers, new_loop: Any) -> None:
    async def scene() -> None:
        stranger = papers.folder / "other.pem"
        trustme.CA().cert_pem.write_to_path(stranger)
        for trusted in ({}, {"ca_file": str(stranger)}):
            record = await first_record(papers, **trusted)
            assert record.ending is Ending.ERROR
            assert record.error.startswith("connection failed: the certificate of https://127.0.0.1:")
            assert "set ca_file to the authority that signed it" in record.error

    run_on(new_loop, scene())


async def test_a_certificate_for_another_name_is_refused(papers: Papers) -> None:
    papers.ca.issue_cert("elsewhere.example").configure_cert(papers.server)
    record = await first_record(papers, ca_file=papers.ca_file)
    assert "is not trusted" in record.error
    assert "127.0.0.1" in record.error


async def test_verification_can_be_switched_off(papers: Papers) -> None:
    assert (await first_record(papers, verify_tls=False)).error == ""


@on_both_loops
def test_a_client_certificate_is_shown_where_it_is_wanted(papers: Papers, new_loop: Any) -> None:
    async def scene() -> None:
        papers.server.verify_mode = ssl.CERT_REQUIRED
        papers.ca.configure_trust(papers.server)
        assert (await first_record(papers, ca_file=papers.ca_file, **papers.client())).error == ""
        bare = await first_record(papers, ca_file=papers.ca_file)
        assert bare.ending is Ending.ERROR
        assert "client_cert" in bare.error

    run_on(new_loop, scene())


async def test_a_server_without_tls_is_named_as_such() -> None:
    async def misunderstand(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        await reader.read()

    async with serving(misunderstand) as url:
        (record,) = await records_of(one_client(url.replace("http:", "https:"), verify_tls=False))
    assert record.ending is Ending.ERROR
    assert "does not speak TLS; is it an http:// address?" in record.error


def test_a_missing_certificate_file_is_the_callers_fault() -> None:
    with pytest.raises(OSError, match="No such file"):
        one_client("https://127.0.0.1:1", ca_file="/nowhere/ca.pem")


@on_both_loops
def test_closing_hangs_up_at_once_over_tls_too(papers: Papers, new_loop: Any) -> None:
    left: list[None] = []
    asked: list[bytes] = []

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"}"))
        try:
            await reader.read()
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            left.append(None)
            writer.transport.abort()

    async def scene() -> None:
        server = await asyncio.start_server(hang, "127.0.0.1", 0, ssl=papers.server)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        loop = ClosedLoop(Target("t", url, ca_file=papers.ca_file), Numbers(), 8)
        await loop.warm()
        loop.start(0.0)
        await until(lambda: len(asked) == 8)
        async with asyncio.timeout(2.0):
            await loop.aclose()
            await until(lambda: len(left) == 8)
        assert [record.ending for record in loop.records] == [Ending.CANCELLED] * 8
        server.close()
        await server.wait_closed()

    run_on(new_loop, scene())
