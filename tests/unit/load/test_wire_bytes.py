"""Addresses and request heads: what goes over the wire is right, and what must stay secret is never shown."""

from __future__ import annotations

import pytest

from probes.load.wire.address import parse_address
from probes.load.wire.head import RequestHead


@pytest.mark.parametrize(
    ("url", "host", "port", "authority", "prefix"),
    [
        ("http://gpu-1", "gpu-1", 80, "gpu-1", ""),
        ("http://gpu-1:8000/", "gpu-1", 8000, "gpu-1:8000", ""),
        ("https://GPU-1.example:443/a/b/", "gpu-1.example", 443, "gpu-1.example", "/a/b"),
        ("https://10.0.0.1:8443", "10.0.0.1", 8443, "10.0.0.1:8443", ""),
        ("http://[2001:db8::1]:8000", "2001:db8::1", 8000, "[2001:db8::1]:8000", ""),
        ("http://[fe80::1%25eth0]", "fe80::1%eth0", 80, "[fe80::1]", ""),
        ("http://bücher.example", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", ""),
    ],
)
def test_addresses_are_taken_apart(url: str, host: str, port: int, authority: str, prefix: str) -> None:
    address = parse_address(url)
    assert (address.host, address.port, address.authority, address.prefix) == (host, port, authority, prefix)
    assert address.tls is url.startswith("https")


@pytest.mark.parametrize("url", ["ftp://a:s3cret@b", "gpu-1:8000", "http://", "http://a:s3cret@b:port", "http://[::1"])
def test_what_is_no_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="server's URL") as caught:
        parse_address(url)
    assert "s3cret" not in str(caught.value)


def test_a_user_in_the_url_is_sent_but_never_shown() -> None:
    address = parse_address("http://me:s3cret%21@gpu-1:8000/x")
    assert address.authorization == "Basic bWU6czNjcmV0IQ=="
    assert "bWU6" not in repr(address)
    assert "s3cret" not in repr(address)
    assert address.shown == "http://gpu-1:8000/x"
    assert b"Authorization: Basic bWU6czNjcmV0IQ==\r\n" in RequestHead(address, "/v1", {}).request("/c", "1", b"")
    ours = RequestHead(address, "/v1", {"authorization": "Bearer key"}).request("/c", "1", b"")
    assert b"Basic" not in ours
    assert b"authorization: Bearer key\r\n" in ours


def test_a_request_is_one_head_and_its_body() -> None:
    head = RequestHead(parse_address("http://gpu-1:8000/r"), "/v1", {"X-Team": "a"})
    first, _, rest = head.request("/completions", "id-7", b'{"a": 1}').partition(b"\r\n")
    lines, _, body = rest.partition(b"\r\n\r\n")
    assert first == b"POST /r/v1/completions HTTP/1.1"
    assert body == b'{"a": 1}'
    sent = dict(line.split(b": ", 1) for line in lines.split(b"\r\n"))
    assert sent.pop(b"User-Agent").startswith(b"specwatch-probe/")
    assert sent == {
        b"Host": b"gpu-1:8000",
        b"Content-Type": b"application/json",
        b"Accept": b"text/event-stream",
        b"Accept-Encoding": b"identity",
        b"Connection": b"keep-alive",
        b"X-Team": b"a",
        b"X-Request-Id": b"id-7",
        b"Content-Length": b"8",
    }


def test_users_headers_do_not_break_the_framing_or_hide_who_asks() -> None:
    given = {"user-agent": "me", "Content-Length": "0", "transfer-encoding": "chunked", "x-request-id": "mine"}
    request = RequestHead(parse_address("http://h"), "/v1", given).request("/c", "id-1", b"{}").lower()
    assert b"user-agent: specwatch-probe/" in request
    assert request.count(b"content-length") == request.count(b"x-request-id") == request.count(b"user-agent") == 1
    assert b"transfer-encoding" not in request
    assert b"content-length: 2\r\n" in request


def test_a_host_of_the_users_is_kept() -> None:
    request = RequestHead(parse_address("http://10.0.0.1"), "/v1", {"host": "chat.example"}).request("/c", "1", b"")
    assert b"host: chat.example\r\n" in request
    assert request.lower().count(b"host:") == 1


def test_a_header_that_would_start_another_line_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="'X-Key' holds a line break") as caught:
        RequestHead(parse_address("http://h"), "/v1", {"X-Key": "s3cret\r\nX-Evil: 1"})
    assert "s3cret" not in str(caught.value)
