"""What is hidden, what stays, and what a cut may not leave behind."""

import base64
import json
import random
import string
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview_interceptors.redact import (
    DEPTH_LIMIT,
    HEAD_CHARS,
    LEAF_LIMIT,
    LIST_HEAD,
    LIST_LIMIT,
    STRING_LIMIT,
    Redacted,
    canonical,
    canonical_schema,
    redact_text,
)

_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + "234567"


def _r(size: int, alphabet: str = _LETTERS) -> str:
    """Return `size` random characters; letters of all cases and a digit are among them if the alphabet has them."""
    made = "".join(random.choice(alphabet) for _ in range(size))
    return "aB3" + made[3:] if alphabet is _LETTERS else made


def _pem(kind: str) -> tuple[str, str]:
    lines = [_r(64) for _ in range(6)]
    return f"-----BEGIN {kind}PRIVATE KEY-----\n" + "\n".join(lines) + f"\n-----END {kind}PRIVATE KEY-----", lines[3]


def _around(template: str, size: int, alphabet: str = _LETTERS) -> Callable[[], tuple[str, str]]:
    def plant() -> tuple[str, str]:
        secret = _r(size, alphabet)
        return template.replace("*", secret), secret

    return plant


def _basic() -> tuple[str, str]:
    encoded = base64.b64encode(f"bob:{_r(14)}".encode()).decode()
    return f"Authorization: Basic {encoded}", encoded


def _jwt() -> tuple[str, str]:
    body, signature = _r(40), _r(43)
    return f"eyJhbGciOiJIUzI1NiJ9.eyJ{body}.{signature}", signature


KINDS: dict[str, Callable[[], tuple[str, str]]] = {
    "openai": _around("sk-*", 48),
    "openai project": _around("sk-proj-*", 60),
    "anthropic": _around("sk-ant-api03-*", 80),
    "github personal": _around("ghp_*", 36),
    "github oauth": _around("gho_*", 36),
    "github server": _around("ghs_*", 36),
    "github user": _around("ghu_*", 36),
    "github fine-grained": _around("github_pat_11ABCDEFG0_*", 50),
    "gitlab": _around("glpat-*", 20),
    "slack bot": _around("xoxb-123456789012-123456789012-*", 24),
    "slack webhook": _around("https://hooks.slack.com/services/T12345678/B12345678/*", 24),
    "aws key id": _around("AKIA*", 16, _UPPER),
    "aws temporary key id": _around("ASIA*", 16, _UPPER),
    "aws secret": _around("aws_secret_access_key = *", 40),
    "google api key": _around("AIza*", 35),
    "google oauth": _around("ya29.a0*", 60),
    "stripe": _around("sk_live_*", 24),
    "stripe restricted": _around("rk_live_*", 24),
    "twilio key": _around("SK*", 32, _HEX),
    "twilio account": _around("AC*", 32, _HEX),
    "sendgrid": _around("SG.abcdefghijklmnopqrstuv.*", 43),
    "mailgun": _around("key-*", 32, _HEX),
    "npm": _around("npm_*", 36),
    "pypi": _around("pypi-AgEIcHlwaS5vcmc*", 80),
    "hugging face": _around("hf_*", 34),
    "digitalocean": _around("dop_v1_*", 64, _HEX),
    "linear": _around("lin_api_*", 40),
    "notion old": _around("secret_*", 43),
    "notion": _around("ntn_*", 46),
    "telegram": _around("123456789:AA*", 33),
    "discord": _around("MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.*", 38),
    "discord webhook": _around("https://discord.com/api/webhooks/123456789012345678/*", 68),
    "azure storage": _around("DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=*==;EndpointSuffix=x", 86),
    "azure sas": _around("https://acme.blob.core.windows.net/c/f?sv=2024&sig=*%3D&se=2030", 43),
    "jwt": _jwt,
    "bearer": _around("Authorization: Bearer *", 32),
    "bare bearer": _around("sent with bearer *", 32),
    "basic": _basic,
    "cookie": _around("Cookie: theme=dark; sid=*; lang=en", 26),
    "set-cookie": _around("Set-Cookie: session=*; Path=/; HttpOnly", 26),
    "postgres url": _around("postgres://bob:*@db.example.com:5432/shop", 16),
    "redis url": _around("redis://:*@cache:6379/0", 16),
    "ado string": _around("Server=db;User Id=sa;Password=*;Encrypt=true", 14),
    "jdbc string": _around("jdbc:mysql://db/shop?user=bob&password=*&ssl=1", 14),
    "libpq dsn": _around("host=db user=bob password=* dbname=shop", 14),
    "pem rsa": lambda: _pem("RSA "),
    "pem pkcs8": lambda: _pem(""),
    "pem openssh": lambda: _pem("OPENSSH "),
    "env file": _around("DB_PASSWORD=*", 12),
    "yaml": _around("client_secret: *", 20),
    "json": _around('{"api_key": "*"}', 20),
    "python": _around("passphrase = '*'", 12),
    "header key": _around("X-Api-Key: *", 24),
    "option": _around("deploy --token * --force", 20),
    "sql user": _around("CREATE USER bob IDENTIFIED BY '*'", 12),
    "curl user": _around("curl -u bob:* https://example.com", 12),
    "xml": _around("<password>*</password>", 12),
    "words around": _around("the secret key is *", 30),
    "vault": _around("hvs.*", 90),
    "form": _around("user=bob&pass+word=1&api_key=*&x=1", 20),
    "password with blanks": _around('"password": "correct horse * staple"', 12),
    "password with a quote": _around(r'"password": "ab\"*"', 12),
    "session id": _around("JSESSIONID=*", 24),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def _left(secret: str, stored: str) -> list[str]:
    """Return the pieces of 8 characters of the secret that are left."""
    return [secret[at : at + 8] for at in range(len(secret) - 7) if secret[at : at + 8] in stored]


@kinds
def test_a_secret_in_a_text_is_hidden_also_when_escaped_or_encoded(kind: str) -> None:
    random.seed(kind)
    for _ in range(8):
        planted, secret = KINDS[kind]()
        for text in (
            planted,
            f"It said:\n{planted}\nand went on.",
            json.dumps({"text": f"before {planted}\nafter"}),
            json.dumps(json.dumps({"text": planted, "next": 1})),
            "https://example.com/?q=" + quote(planted, safe="") + "&page=2",
        ):
            stored = redact_text(text)

            assert _left(secret, stored) == []
            assert "[redacted:" in stored
            assert redact_text(stored) == stored


@kinds
def test_a_secret_in_arguments_is_hidden_wherever_it_stands(kind: str) -> None:
    random.seed(kind)
    planted, secret = KINDS[kind]()
    places: list[dict[str, Any]] = [
        {"value": planted},
        {"a": {"b": [{"c": planted}]}},
        {"list": ["x", planted, 3]},
        {planted: 1, "other": True},
        {"json": json.dumps({"inner": [planted]})},
    ]

    for arguments in places:
        assert _left(secret, json.dumps(canonical(arguments).value)) == []


@kinds
def test_no_cut_leaves_a_piece_of_a_secret(kind: str) -> None:
    random.seed(kind)
    planted, secret = KINDS[kind]()
    for offset in range(max(0, HEAD_CHARS - len(planted) - 2), HEAD_CHARS + 1):
        text = ("word " * HEAD_CHARS)[:offset] + " " + planted + " tail" * STRING_LIMIT
        json_text = json.dumps(
            {"a": ("word " * HEAD_CHARS)[: max(0, offset - 8)], "b": planted, "c": "x" * STRING_LIMIT}
        )

        assert _left(secret, json.dumps(canonical({"text": text}).value)) == []
        assert _left(secret, json.dumps(canonical({"text": json_text}).value)) == []
        assert _left(secret, redact_text(text, limit=HEAD_CHARS)) == []


@settings(deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 400), st.text(max_size=40), st.integers(0, 2**32))
def test_no_secret_survives_anywhere_near_a_cut(kind: str, offset: int, before: str, seed: int) -> None:
    random.seed(seed)
    planted, secret = KINDS[kind]()
    text = before + " " * (offset - len(before)) + "\n" + planted

    for limit in (HEAD_CHARS, len(text) - 1, len(text) - 9):
        assert _left(secret, redact_text(text, limit=limit)) == []


ORDINARY = [
    "/home/bob/project/src/main.rs",
    r"C:\Users\bob\Documents\keys and locks\report.docx",
    "SELECT id, label FROM items WHERE price > 10 ORDER BY label LIMIT 5",
    "SELECT password, token FROM users WHERE token = ? AND secret = :secret",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes the token parser",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "The model used 1523 tokens; max_tokens: 4096, total_tokens=5619, and the token: it was fine.",
    "SyntaxError: Unexpected token: } in JSON at position 12",
    "Unexpected token: identifier",
    'Database error: unrecognized token: "\'bolt"',
    "PASS: test_login (0.2 s), an annual pass: 50 dollars",
    "to reset your password: https://example.com/reset-password",
    "x = a+b+c and C++ code with + signs and 100% of it, 50%25 more",
    'password is required; "password": "string" is what the schema says',
    "token = get_token()\nfor token in tokens:\n    print(token)",
    "secret = os.environ['SECRET_NAME']",
    "def login(user: str, password: str) -> Token: ...",
    "author: Alice, keyboard: us, monkey=banana, secretary: Bob, authority=root",
    "next_page_token=CAUQAA and nextPageToken: abcDEF123",
    "https://example.com:8080/path/to/page?id=42&sort=name#top",
    "see git@github.com:acme/widgets.git or mailto bob@example.com",
    "export PATH=/usr/local/bin:$PATH; password=$PASSWORD; token=${TOKEN}",
    "task-management-system-for-large-teams-and-other-long-names",
    "const result = await client.callTool({name: 'search', arguments: {query}})",
    "2026-01-15T10:00:00.000Z level=info msg=done duration=15ms key=theme",
    "Please basic understanding of bearers and cookies is needed",
    "ключ: значение, пароль не указан, 密码 令牌",
    "",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == text
    assert canonical({"text": text, "items": [text]}) == Redacted({"text": text, "items": [text]}, ())


@pytest.mark.parametrize(
    "name",
    ["password", "dbPassword", "DB_PASS", "pwd", "secret", "client-secret", "token", "authToken", "api_key", "apikey",
     "API-KEY", "x-api-key", "accessKey", "private_key", "credentials", "auth", "passphrase", "session_id", "cookie",
     "Authorization"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["short", "with blanks in it", ["a", "b"], {"deep": {"er": "value"}}])
def test_a_value_is_hidden_whole_when_its_name_announces_a_secret(name: str, value: Any) -> None:
    arguments = {"outer": {name: value}, "x": 1}

    assert canonical(arguments) == Redacted({"outer": {name: "[redacted:key]"}, "x": 1}, (f"outer.{name}",))


def test_numbers_are_hidden_under_a_sure_name_and_kept_under_a_count() -> None:
    arguments = {"password": 12345678, "pin": 4711, "tokens": 812, "max_tokens": 99}

    assert canonical(arguments).value == {
        "password": "[redacted:key]",
        "pin": "[redacted:key]",
        "tokens": 812,
        "max_tokens": 99,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": True, "token": None, "secret": False},
        {"max_tokens": "100", "token_count": 5, "next_page_token": "abc", "pageToken": "x", "author": "Alice"},
        {"secret_name": "prod/db", "auth_url": "https://x.example", "password_policy": "long", "token_type": "bearer"},
        {"key": "theme", "keys": ["a"], "keyboard": "us", "passenger": "Bob", "has_password": "yes", "pin": "left"},
    ],
)
def test_arguments_that_only_sound_like_secrets_stay(arguments: dict[str, Any]) -> None:
    assert canonical(arguments) == Redacted(arguments, ())


def test_a_secret_is_known_by_the_name_or_the_flag_beside_it() -> None:
    arguments = {
        "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "DB_HOST", "value": "db"}],
        "command": ["deploy", "--password", "hunter2", "--host", "db"],
    }

    assert canonical(arguments) == Redacted(
        {
            "env": [{"name": "DB_PASSWORD", "value": "[redacted:key]"}, {"name": "DB_HOST", "value": "db"}],
            "command": ["deploy", "--password", "[redacted:key]", "--host", "db"],
        },
        ("env[].value", "command[]"),
    )


def test_large_values_are_cut_and_say_how_large_they_were() -> None:
    long = "word " * 1000
    deep: Any = "leaf"
    for _ in range(DEPTH_LIMIT + 3):
        deep = {"d": deep}

    cut = canonical({"text": long, "list": list(range(LIST_LIMIT + 1)), "fits": list(range(LIST_LIMIT))})

    assert cut == Redacted(
        {
            "text": {"$cut": 5000, "head": long[:HEAD_CHARS]},
            "list": {"$cut": LIST_LIMIT + 1, "head": list(range(LIST_HEAD))},
            "fits": list(range(LIST_LIMIT)),
        },
        ("text", "list"),
    )
    assert json.dumps(canonical(deep).value).count('"d"') == DEPTH_LIMIT
    assert canonical({"a": {str(n): n for n in range(LEAF_LIMIT + 5)}}).value["a"]["$cut"] == LEAF_LIMIT + 5


def test_a_schema_keeps_its_properties_and_hides_the_values_of_secret_ones() -> None:
    properties: dict[str, Any] = {f"p{number}": {"type": "string"} for number in range(LEAF_LIMIT)}
    properties["password"] = {"type": "string", "default": "hunter2", "minLength": 8}
    properties["token"] = {"anyOf": [{"type": "string"}, {"type": "null"}], "examples": ["hunter2"]}
    properties["url"] = {"default": "postgres://bob:hunter2@db/shop"}
    schema = {"type": "object", "properties": properties, "required": list(properties)}

    properties_kept = {
        **properties,
        "password": {"type": "string", "default": "[redacted:key]", "minLength": 8},
        "token": {"anyOf": [{"type": "string"}, {"type": "null"}], "examples": "[redacted:key]"},
        "url": {"default": "postgres://[redacted:url]@db/shop"},
    }
    assert canonical_schema(schema) == {**schema, "properties": properties_kept}


def test_email_addresses_are_hidden_on_request_only() -> None:
    text = "write to bob.smith+x@example.co.uk now"

    assert redact_text(text) == text
    assert redact_text(text, email=True) == "write to [redacted:email] now"
    assert canonical({"to": text}, email=True) == Redacted({"to": "write to [redacted:email] now"}, ("to",))


def test_two_keys_that_become_the_same_are_both_kept() -> None:
    arguments = {f"ghp_{_r(36)}": 1, f"ghp_{_r(36)} ": 2}

    assert sorted(canonical(arguments).value.values()) == [1, 2]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=30,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=20), _json, max_size=8))
def test_any_arguments_give_arguments_that_can_be_stored_and_are_not_changed(arguments: dict[str, Any]) -> None:
    before = json.dumps(arguments)

    made = canonical(arguments)

    json.dumps(made.value)
    assert json.dumps(arguments) == before
    assert made == canonical(arguments)


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("pasword=:tken \"'\\%3D{}[]/@-_.ABKIsk1\n"), max_size=300), st.booleans())
def test_redacting_never_fails_and_settles(text: str, cut: bool) -> None:
    once = redact_text(text, cut=cut)

    assert redact_text(once) == once
