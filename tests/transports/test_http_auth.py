import json

import pytest

from rearview.transports.http_auth import Names
from rearview.transports.http_client import Origin

ASKED = [(b"Host", b"localhost:8080")]
NAMES = Names(Origin("http://tools.example:9000/v1/mcp"), b"/mcp")
DOCUMENT = b"/.well-known/oauth-protected-resource/mcp"


def test_a_challenge_leads_to_our_copy_of_the_document() -> None:
    value = (
        b'Bearer error="x", resource_metadata="http://tools.example:9000/.well-known/oauth-protected-resource/v1/mcp"'
    )

    changed = NAMES.challenge([(b"WWW-Authenticate", value), (b"X", b"y")], ASKED)

    assert changed == [(b"WWW-Authenticate", value.replace(b"tools.example:9000", b"localhost:8080")), (b"X", b"y")]


def test_a_challenge_that_leads_elsewhere_stays() -> None:
    told = [(b"WWW-Authenticate", b'Bearer resource_metadata="https://id.example/doc"')]

    assert NAMES.challenge(told, ASKED) == told


@pytest.mark.parametrize(
    ("resource", "named"),
    [
        ("http://tools.example:9000/v1/mcp", "http://localhost:8080/mcp"),
        ("http://tools.example:9000/", "http://localhost:8080/"),
        ("http://tools.example:9000", "http://localhost:8080"),
        ("https://other.example/mcp", "https://other.example/mcp"),
        ("http://tools.example:9000.evil.example/", "http://tools.example:9000.evil.example/"),
    ],
)
def test_the_documents_resource_is_our_address_and_all_else_stays(resource: str, named: str) -> None:
    body = json.dumps({"n": 1, "resource": resource, "authorization_servers": ["http://tools.example:9000"]}, indent=1)

    changed = NAMES.document(DOCUMENT, body.encode(), ASKED)

    assert changed.decode() == body.replace(f'"{resource}",', f'"{named}",', 1)


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b'{"resource":5}', b'{"resource":"http://tools'])
def test_what_is_no_such_document_stays(body: bytes) -> None:
    assert NAMES.document(DOCUMENT, body, ASKED) == body
    assert NAMES.document(b"/mcp", b'{"resource":"http://tools.example:9000/"}', ASKED).endswith(b'9000/"}')


def test_behind_tls_our_address_is_a_secure_one() -> None:
    body = b'{"resource":"http://tools.example:9000/v1/mcp"}'

    changed = NAMES.document(DOCUMENT, body, [(b"host", b"tools.internal"), (b"x-forwarded-proto", b"https")])

    assert json.loads(changed) == {"resource": "https://tools.internal/mcp"}


def test_the_document_about_our_endpoint_is_the_one_about_the_servers() -> None:
    assert NAMES.asked(DOCUMENT) == b"/.well-known/oauth-protected-resource/v1/mcp"
    assert NAMES.asked(b"/.well-known/oauth-authorization-server") == b"/.well-known/oauth-authorization-server"
