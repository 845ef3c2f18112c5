"""The maintained table of what a secret looks like; `redact_text` applies it.

To add a kind: one rule with a stable name, literal anchors, and a pattern; then plant one in the tests' list.
"""

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """Hides group 1 of `pattern` (all of it, if there is no group) in a text that contains one of `anchors`.

    Anchors of `TOKEN_RULES` are as they stand in the text, all others lower case, for a lowered text. No rule is tried
    on a text that `redact_text.suspicious` calls clean, so what is shorter than `RUN_LENGTH` token characters needs a
    stem there. Patterns are compiled when they are first needed: all of them together would cost 50 ms at every start.
    """

    name: str
    anchors: tuple[str, ...]
    pattern: str


RUN_LENGTH = 16
STEMS = ("tokn", "ky", "pss", "scrt", "crd", "uth", "cook", "sssn", "pwd")
"""What is left of token, key, pass, secret, cred, auth, cookie, session and pwd without `redact_text._FLESH`."""


def _rule(name: str, anchors: str, pattern: str) -> Rule:
    return Rule(name, tuple(anchors.split()), pattern)


# A token begins where a word does, or behind an escape: %3D, \n, \u003d.
_B = r"(?:(?<![A-Za-z0-9_])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrtbf])|(?<=\\u00[0-9A-Fa-f]{2}))"
_PEM_TITLE = r"(?:[A-Z0-9 +]|%20){0,60}?PRIVATE(?: |\+|%20)KEY(?:(?: |\+|%20)BLOCK)?-----"

KEY_RULES = (
    _rule("private-key", "-----begin", rf"(?s)-----BEGIN{_PEM_TITLE}.*?(?:-----END{_PEM_TITLE}|\Z)"),
    _rule("private-key", "-----end", rf"(?<![A-Za-z0-9+/=\\\s])[A-Za-z0-9+/=\\\s]{{16,}}-----END{_PEM_TITLE}"),
    _rule("private-key", "private-lines", r"(?si)private-lines:.*?(?:private-mac:[^\n]*|\Z)"),
)
"""First of all, because a key is made of lines that other rules would take apart."""

TOKEN_RULES = (
    _rule("age", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{16,}"),
    _rule("airtable", "pat", rf"{_B}pat[A-Za-z0-9]{{14}}\.[a-f0-9]{{40,}}"),
    _rule("anthropic", "sk-ant-", r"sk-ant-[\w\-]{12,}"),
    _rule("atlassian", "ATATT3 ATCTT3", r"AT[AC]TT3[\w\-=]{16,}"),
    _rule("aws", "AKIA ASIA ABIA ACCA AROA AIDA", r"A(?:KIA|SIA|BIA|CCA|ROA|IDA)[A-Z2-7]{16}"),
    _rule("databricks", "dapi", rf"{_B}dapi[a-f0-9]{{32}}"),
    _rule("digitalocean", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{24,}"),
    _rule("discord", "mfa.", rf"{_B}mfa\.[\w\-]{{60,}}"),
    _rule("docker", "dckr_", r"dckr_(?:pat|oat)_[\w\-]{16,}"),
    _rule("doppler", "dp.", rf"{_B}dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.\-]{{30,}}"),
    _rule("figma", "figd_ figo_ figu_ figr_", r"fig[dour]_[\w\-]{20,}"),
    _rule("fly", "fm1 fm2", rf"{_B}fm[12][a-z]?_[A-Za-z0-9+/=_\-]{{30,}}"),
    _rule("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{16,}"),
    _rule("github", "github_pat_", r"github_pat_\w{16,}"),
    _rule("gitlab", "glpat- gldt- glrt- glcbt- glptt- glft- glagent- gloas-", r"gl[a-z]{2,5}-[\w\-.=]{16,}"),
    _rule("google", "AIza", r"AIza[\w\-]{30,}"),
    _rule("google-oauth", "ya29. GOCSPX-", r"(?:ya29\.|GOCSPX-)[\w\-.]{16,}"),
    _rule("google-oauth", "1//0", r"(?<![A-Za-z0-9/])1//0[\w\-]{30,}"),
    _rule("grafana", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{20,}"),
    _rule("groq", "gsk_", rf"{_B}gsk_[A-Za-z0-9]{{30,}}"),
    _rule("huggingface", "hf_ api_org_", rf"{_B}(?:hf|api_org)_[A-Za-z0-9]{{30,}}"),
    _rule("jwt", "eyJ", r"eyJ[\w\-]{8,}\.[\w\-]{8,}(?:\.[\w\-]*)*"),
    _rule("linear", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{24,}"),
    _rule("mailgun", "key-", rf"{_B}key-[0-9a-zA-Z]{{32}}"),
    _rule("new-relic", "NRAK- NRII- NRJS- NRRA-", r"NR(?:AK|II|JS|RA)-[\w\-]{20,}"),
    _rule("notion", "ntn_ secret_", rf"{_B}(?:ntn|secret)_[A-Za-z0-9]{{40,}}"),
    _rule("npm", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _rule("openai", "sk-proj- sk-svcacct- sk-admin- sk-or-", r"sk-(?:proj|svcacct|admin|or)-[\w\-]{12,}"),
    _rule("openai", "sk-", rf"{_B}sk-[A-Za-z0-9]{{20,}}"),
    _rule("perplexity", "pplx-", rf"{_B}pplx-[A-Za-z0-9]{{30,}}"),
    _rule("postman", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{20,}"),
    _rule("pypi", "pypi-", r"pypi-Ag[\w\-]{16,}"),
    _rule("replicate", "r8_", rf"{_B}r8_[A-Za-z0-9]{{30,}}"),
    _rule("sendgrid", "SG.", r"SG\.[\w\-]{16,}(?:\.[\w\-]{16,})?"),
    _rule("sentry", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_\-]{20,}"),
    _rule("shopify", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _rule("slack", "xox xapp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9\-]{10,}"),
    _rule("square", "EAAA", rf"{_B}EAAA[\w\-]{{56,}}"),
    _rule("square", "sq0", r"sq0[a-z]{3}-[\w\-]{20,}"),
    _rule("stripe", "_live_ _test_ whsec_", r"(?:(?:sk|rk|pk)_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{12,}"),
    _rule("supabase", "sbp_ sb_", r"sb(?:p|_secret|_publishable)_[\w\-]{20,}"),
    _rule("tavily", "tvly-", rf"{_B}tvly-[A-Za-z0-9\-]{{20,}}"),
    _rule("telegram", ":AA %3AAA", r"(?<!\d)\d{8,10}(?::|%3A)AA[\w\-]{33}(?![\w\-])"),
    _rule("twilio", "SK AC", rf"{_B}(?:SK|AC)[0-9a-fA-F]{{32}}(?![0-9a-fA-F])"),
    _rule("vault", "hvs. hvb. hvr.", r"hv[sbr]\.[\w\-]{20,}"),
    _rule("xai", "xai-", rf"{_B}xai-[A-Za-z0-9]{{30,}}"),
)
"""What a vendor's prefix gives away."""

_DISCORD_START = r"[MNO](?:(?<![A-Za-z0-9_].)|(?<=%[0-9A-F]{2}.)|(?<=\\[nrt].))"
UNANCHORED_RULES = (_rule("discord", "", rf"{_DISCORD_START}[\w\-]{{22,27}}\.[\w\-]{{6}}\.[\w\-]{{25,45}}"),)
"""Without a prefix, but cheap to look for."""

_IS = r"(?:=|%3D|\\u003d)"
_VALUE_TO_EOL = r"((?:\\(?![nr\"'\\])|[^\r\n\"'\\])+)"
_LONG = r"(?=[A-Za-z0-9+/_\-]*[0-9])(?=[A-Za-z0-9+/_\-]*[a-z])(?=[A-Za-z0-9+/_\-]*[A-Z])"

CONTEXT_RULES = (
    _rule("aws-secret", "aws", r"(?i)aws.{0,40}?(?<![A-Za-z0-9/+=])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    _rule("azure", "accountkey sharedaccesskey", rf"(?i)(?:Account|SharedAccess)Key{_IS}([^\s;\"'&<>\\]+)"),
    _rule("azure-sas", "sig= sig%3d sig\\u003d", rf"(?i)(?<![a-z])sig{_IS}((?:[A-Za-z0-9+/=_\-]|%(?!26))+)"),
    _rule("slack-webhook", "hooks.slack", r"hooks\.slack[\w.\-]*(?:/|%2F|\\/)\w{0,20}?(?:/|%2F|\\/)([^\s\"'<>]+)"),
    _rule("discord-webhook", "webhooks", r"(?i)/api\\?/(?:v\d+\\?/)?webhooks\\?/(\d+[^\s\"'<>]*)"),
    _rule("mailchimp", "-us", r"[0-9a-f](?<![0-9a-f].)[0-9a-f]{31}-us\d{1,2}\b"),
    _rule("teams-webhook", "webhook.office", r"webhook\.office\.com\\?/([^\s\"'<>]+)"),
    _rule("cookie", "cookie", rf"(?i)cookie2?[\"'\\]*\s?(?::|%3A)(?:\s|%20|\+|\\*[\"'])*{_VALUE_TO_EOL}"),
    _rule(
        "authorization",
        "authorization",
        rf"(?i)authorization(?:[\\\"']|%22)*\s?(?::|=|%3A|%3D)(?:[\s\\\"'+]|%20|%22)*{_VALUE_TO_EOL}",
    ),
    _rule(
        "bearer",
        "bearer",
        r"(?i)\bbearer(?:\s+|%20|\+)((?=\S*[0-9_.\-])[A-Za-z0-9_.~+/=%\-]{8,}|[A-Za-z0-9+/=]{20,})",
    ),
    _rule(
        "basic",
        "basic",
        r"\b[Bb]asic(?:\s+|%20|\+)([A-Za-z0-9+/]{6,}(?:=|%3D){1,2}|(?=\S*[a-z0-9][A-Z])[A-Za-z0-9+/]{12,})",
    ),
    _rule("curl", "curl", r"curl\b[^\n|]{0,500}?\s(?:-u|--user)[\s=]*[\"']?[^\s:\"']+:([^\s\"']+)"),
    _rule("mysql", "mysql", r"mysql\w*\b[^\n|]{0,500}?\s-p([^\s\"']+)"),
    _rule("sshpass", "sshpass", r"sshpass\s+-p\s*(\"[^\"]*\"?|'[^']*'?|\S+)"),
    _rule("sql", "identified password", r"(?i)\b(?:identified\s+by|password)\s+\\*'((?:[^'\\]|\\[^']|'')+)"),
    _rule(
        "url",
        ":// %3a%2f%2f :\\/\\/",
        r"(?::|%3[Aa])(?:/|%2[Ff]|\\/){2}([^\s/@:\"'<>%]*(?::|%3[Aa])(?!\d{1,5}/)[^\s\"'<>]{1,200}?)(?:@|%40)(?![^\s/\"'<>]*@)",
    ),
    _rule("url", "://", r"://([\w\-.~%]{20,})@"),
    _rule(
        "xml",
        ">",
        r"(?i)<[\w:.\-]{0,40}(?:password|passwd|secret|token|api-?_?key)[\w\-]*(?:\s[^<>]*)?>"
        r"(?:([^<]+)(?=<(?:\\?/|\Z))|([^<\n]{4,})\Z)",
    ),
)
"""What the words around give away, where a key name and a separator are not enough."""

NEARBY_RULES = (
    _rule(
        "random",
        "token secret key password credential",
        r"(?:[Tt]oken|TOKEN|[Ss]ecret|SECRET|[Kk]ey|KEY|[Pp]assword|PASSWORD|[Cc]redential)[sS]?\b[^\n]{0,24}?(?<![A-Za-z0-9+/_=.~\-])"
        rf"{_LONG}([A-Za-z0-9+_\-]{{20,}}={{0,2}}(?![/.])|[A-Za-z0-9+_\-][A-Za-z0-9+/_\-]{{35,}}={{0,2}})",
    ),
)
"""Long, and of upper case, lower case and digits: neither a hash nor a UUID, but next to one of the words."""

EMAIL_RULES = (
    _rule("email", "@ %40", r"(?<![A-Za-z0-9._+\-])[A-Za-z0-9._+\-]+(?:@|%40)[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+"),
)
CUT_URL = r"(?i)(?:://|%3A%2F%2F|:\\/\\/)([^\s/@:\"'<>]*(?::|%3A)[^\s\"'<>]*)\Z"
"""`scheme://user:password` whose `@` was cut off."""


def vendor_rules(text: str) -> list[Rule]:
    """Return the token rules whose anchor stands in the text, found in one pass."""
    anchor = re.compile(ANCHORS)
    found = set()
    at = 0
    while match := anchor.search(text, at):
        found.add(match[0])
        # Not behind the match: anchors may overlap.
        at = match.start() + 1
    return [rule for rule in TOKEN_RULES if any(hit.startswith(rule.anchors) for hit in found)] if found else []


def _prefix_tree(words: list[str]) -> str:
    """Return a pattern for any of the words that looks at each character once; the longest wins."""
    ends = "" in words
    branches: dict[str, list[str]] = {}
    for word in words:
        if word:
            branches.setdefault(word[0], []).append(word[1:])
    if not branches:
        return ""
    tree = "|".join(re.escape(first) + _prefix_tree(rest) for first, rest in branches.items())
    return f"(?:{tree})?" if ends else f"(?:{tree})"


_ALL_ANCHORS = [anchor for rule in TOKEN_RULES for anchor in rule.anchors]
ANCHORS = _prefix_tree(_ALL_ANCHORS)
PLAIN_ANCHORS = tuple(anchor for anchor in _ALL_ANCHORS if anchor.isalnum() and anchor.islower())
"""Those that can stand amid lower case letters and digits."""
