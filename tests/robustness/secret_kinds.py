"""Secrets of many kinds, made at random with valid shapes."""

import base64
import random
import string
from typing import NamedTuple

LETTERS = string.ascii_letters
ALNUM = LETTERS + string.digits
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"
BASE32 = string.ascii_uppercase + "234567"
URLSAFE = ALNUM + "-_"


class Secret(NamedTuple):
    """`text` is what stands in a message; no ten characters of any of the `parts` may be found afterwards."""

    kind: str
    text: str
    parts: tuple[str, ...]

    def pieces(self) -> set[str]:
        return {part[at : at + 10] for part in self.parts for at in range(max(1, len(part) - 9))}


class Mint:
    """Makes secrets; the same seed, the same secrets."""

    def __init__(self, seed: int) -> None:
        self._luck = random.Random(seed)

    def some(self, alphabet: str, length: int) -> str:
        """Random characters with a digit, a capital and a small letter among them where the alphabet has them."""
        text = [self._luck.choice(alphabet) for _ in range(length)]
        for at, group in enumerate((string.digits, string.ascii_uppercase, string.ascii_lowercase)):
            if usable := [each for each in group if each in alphabet]:
                text[at + 1] = self._luck.choice(usable)
        return "".join(text)

    def prefixed(self, kind: str, prefix: str, alphabet: str, length: int) -> Secret:
        random_part = self.some(alphabet, length)
        return Secret(kind, prefix + random_part, (random_part,))

    def around(self, kind: str, form: str, alphabet: str, length: int) -> Secret:
        random_part = self.some(alphabet, length)
        return Secret(kind, form.format(random_part), (random_part,))

    def all(self) -> list[Secret]:
        return [
            *(self.prefixed(*row) for row in PREFIXED), *(self.around(*row) for row in IN_A_FORM),
            self.jwt(), self.private_key("RSA "), self.private_key(""), self.private_key("OPENSSH "), self.basic(),
            self.aws_pair(),
        ]  # fmt: skip

    def jwt(self) -> Secret:
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
        body, signature = self.some(URLSAFE, 60), self.some(URLSAFE, 43)
        return Secret("jwt", f"{head}.eyJ{body}.{signature}", (body, signature))

    def private_key(self, name: str) -> Secret:
        lines = [self.some(BASE64, 64) for _ in range(6)]
        text = "\n".join([f"-----BEGIN {name}PRIVATE KEY-----", *lines, f"-----END {name}PRIVATE KEY-----"])
        return Secret(f"{name.lower()}private-key", text, tuple(lines))

    def basic(self) -> Secret:
        value = base64.b64encode(f"user:{self.some(ALNUM, 20)}".encode()).decode()
        return Secret("basic", f"Authorization: Basic {value}", (value.rstrip("=")[8:],))

    def aws_pair(self) -> Secret:
        ident, value = self.some(BASE32, 16), self.some(BASE64, 40)
        return Secret("aws-pair", f"aws_access_key_id=AKIA{ident} aws_secret_access_key={value}", (ident, value))


PREFIXED = [
    ("github", "ghp_", ALNUM, 36), ("github-fine", "github_pat_", ALNUM + "_", 82), ("gitlab", "glpat-", URLSAFE, 20),
    ("openai", "sk-proj-", URLSAFE, 48), ("openai-old", "sk-", ALNUM, 48), ("anthropic", "sk-ant-api03-", URLSAFE, 90),
    ("aws", "AKIA", BASE32, 16), ("google", "AIza", URLSAFE, 35), ("google-oauth", "ya29.", URLSAFE, 60),
    ("google-secret", "GOCSPX-", URLSAFE, 28), ("stripe", "sk_live_", ALNUM, 24), ("stripe-hook", "whsec_", ALNUM, 32),
    ("slack-bot", "xoxb-", ALNUM, 40), ("slack-app", "xapp-1-", ALNUM, 60), ("npm", "npm_", ALNUM, 36),
    ("pypi", "pypi-AgEIcHlwaS5vcmc", URLSAFE, 80), ("huggingface", "hf_", LETTERS, 34), ("vault", "hvs.", URLSAFE, 40),
    ("digitalocean", "dop_v1_", HEX, 64), ("shopify", "shpat_", HEX, 32), ("twilio", "SK", HEX, 32),
    ("linear", "lin_api_", ALNUM, 40), ("notion", "ntn_", ALNUM, 46), ("docker", "dckr_pat_", URLSAFE, 27),
    ("databricks", "dapi", HEX, 32), ("grafana", "glsa_", ALNUM, 40), ("postman", "PMAK-" + "0" * 24 + "-", HEX, 34),
    ("mailgun", "key-", HEX, 32), ("groq", "gsk_", ALNUM, 52), ("xai", "xai-", ALNUM, 80),
    ("replicate", "r8_", ALNUM, 37), ("perplexity", "pplx-", ALNUM, 48), ("figma", "figd_", URLSAFE, 40),
    ("sendgrid", "SG.", URLSAFE, 66), ("age", "AGE-SECRET-KEY-1", string.ascii_uppercase + string.digits, 58),
    ("telegram", "123456789:AA", URLSAFE, 33), ("atlassian", "ATATT3xFfGF0", URLSAFE, 180),
]  # fmt: skip

IN_A_FORM = [
    ("bearer", "Authorization: Bearer {}", ALNUM, 40),
    ("postgres", "postgres://app:{}@db.example.com:5432/x", ALNUM, 20),
    ("redis", "redis://:{}@cache:6379/0", ALNUM, 24), ("mongodb", "mongodb+srv://app:{}@c.example.net/x", ALNUM, 22),
    ("password", "password={}", ALNUM, 18),
    ("api-key", '"api_key": "{}"', ALNUM, 32), ("cookie", "Cookie: sid={}", ALNUM, 40),
    ("azure", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=y", BASE64, 86),
    ("url-token", "https://api.example.com/v1?access_token={}", ALNUM, 40), ("env", "DB_PASSWORD='{}'", ALNUM, 24),
    ("flag", "deploy --token {} --force", ALNUM, 32), ("client-secret", "client_secret: {}", ALNUM, 40),
    ("slack-hook", "https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/{}", ALNUM, 24),
    ("git", "git clone https://oauth2:{}@github.com/a/b.git", ALNUM, 40),
]  # fmt: skip
