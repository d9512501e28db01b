"""The public rules of `scan`, made from the file of gitleaks.

`python -m tests.docs.public_rules gitleaks.toml COMMIT` writes
`projections/health/public_rules.toml` again and prints the number of rules. Omitted rules
are listed below, each with its reason.
"""

import hashlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "projections" / "health" / "public_rules.toml"

NAMES_SOMEBODY = "an id or a public key, which is not secret"
BY_ENTROPY = "only entropy distinguishes it from other words"
UNBOUNDED = "it takes more time than in proportion to the text"
A_FILE = "it is about names of files"
MASKED = "masked on the way in, so among the forms of engine/masking_forms.toml"

LEFT_OUT = {
    **dict.fromkeys(
        (
            *("adobe-client-id", "asana-client-id", "bitbucket-client-id"),
            *("discord-client-id", "linkedin-client-id", "looker-client-id"),
            *("messagebird-client-id", "plaid-client-id", "sendbird-access-id"),
            *("sumologic-access-id", "new-relic-user-api-id", "mailgun-pub-key"),
            *("lob-pub-api-key", "flutterwave-public-key"),
        ),
        NAMES_SOMEBODY,
    ),
    **dict.fromkeys(
        ("generic-api-key", "hashicorp-tf-password", "vault-service-token"), BY_ENTROPY
    ),
    **dict.fromkeys(
        ("curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml"), UNBOUNDED
    ),
    "pkcs12-file": A_FILE,
}

OWN = {
    "airtable-personnal-access-token": (["pat"], r"\bpat[0-9A-Za-z]{14}\.[a-f0-9]{64}\b"),
    "authress-service-client-access-key": (
        ["sc_", "ext_", "scauth_", "authress_"],
        r"\b(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-]"
        r"[A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
    ),
    "clickhouse-cloud-api-secret-key": (["4b1d"], r"\b4b1d[A-Za-z0-9]{38}\b"),
    "aws-access-token": (["a3t"], r"\bA3T[A-Z0-9][A-Z2-7]{16}\b"),
    "facebook-access-token": (
        ["facebook"],
        r"(?i:facebook[^\n]{0,80}?\b(?P<secret>\d{15,16}[|%][0-9a-z_-]{27,40})(?![\w-]))",
    ),
    "flutterwave-encryption-key": (
        ["flwseck_test"],
        r"FLWSECK_TEST-[a-hA-H0-9]{12}(?![A-Za-z0-9])",
    ),
    "freemius-secret-key": (
        ["secret_key"],
        r"(?i:secret_key[\"']\s{0,9}=>\s{0,9}[\"'](?P<secret>sk_\S{29})[\"'])",
    ),
    "gitlab-session-cookie": (
        ["_gitlab_session="],
        r"_gitlab_session=(?P<secret>[0-9a-z]{32})",
    ),
    "grafana-api-key": (["eyjrijoi"], r"\beyJrIjoi[A-Za-z0-9]{70,400}={0,3}"),
    "harness-api-key": (
        ["pat.", "sat."],
        r"\b(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
    ),
    "intra42-client-secret": (["s-s4t2"], r"\bs-s4t2(?:ud|af)-[a-fA-F0-9]{64}"),
    "nuget-config-password": (
        ["<add key="],
        r"(?i:<add key=\"(?:ClearText)?Password\"\s{0,9}value="
        r"\"(?P<secret>[^\"\n]{8,200})\"\s{0,9}/>)",
    ),
    "sendgrid-api-token": (["sg."], r"\bSG\.[A-Za-z0-9=_.-]{66}(?![\w-])"),
    "settlemint-application-access-token": (["sm_aat"], r"\bsm_aat_[A-Za-z0-9]{16}\b"),
    "settlemint-personal-access-token": (["sm_pat"], r"\bsm_pat_[A-Za-z0-9]{16}\b"),
    "settlemint-service-access-token": (["sm_sat"], r"\bsm_sat_[A-Za-z0-9]{16}\b"),
    "slack-app-token": (
        ["xapp-"],
        r"\b(?i:xapp-\d-[A-Z0-9]{1,200}-\d{1,200}-[a-z0-9]{1,200})",
    ),
    "twilio-api-key": (["sk"], r"\bSK[0-9a-fA-F]{32}\b"),
}
"""Rules of another form, rewritten: from their word on, and bounded."""

BOUND = re.compile(
    r"(?P<case>\(\?i\))?\[\\w\.-\]\{0,50\}\?(?P<inner>\(\?i:\[\\w\.-\]\{0,50\}\?)?(?P<rest>.*)"
)
"""A word, what may follow it, a sign between names and values, a value and its end."""
NAMES = re.compile(r"\(\?:((?:[^()]|\((?:[^()]|\([^()]*\))*\))+)\)")
END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
AFTER = r"""(?=[\x60'"\s;]|\\[nr]|\Z)"""
WORDS = {
    "gocardless-api-token": ["gocardless"],
    "lob-api-key": ["lob"],
    "new-relic-browser-api-token": ["new-relic", "newrelic", "new_relic"],
    "new-relic-insert-key": ["new-relic", "newrelic", "new_relic"],
    "new-relic-user-api-key": ["new-relic", "newrelic", "new_relic"],
    "typeform-api-token": ["typeform"],
    "atlassian-api-token": ["atlassian", "confluence", "jira"],
}
"""With which a rule begins, where its keywords are others."""
HEAD = """\
# Rules of gitleaks for tokens that only a name before them reveals, for `sprintlog scan`.
#
# source   https://github.com/gitleaks/gitleaks, config/gitleaks.toml
# commit   {commit}
# sha256   {digest} (of that file)
# licence  MIT License, see NOTICE
#
# Made by `python -m tests.docs.public_rules`: edits here are lost. As in
# engine/masking_forms.toml each form has a name, words and a pattern in Python's syntax. A
# pattern begins at a word, whatever its case. The group `secret` is the secret, else all of
# it. No entropy is asked for; what of gitleaks is left out, and why, stands in that module.
"""


def translated(rule: dict[str, object]) -> tuple[list[str], str] | None:
    """Return the keywords and the pattern of a rule; None for a different kind of rule."""
    name, regex = str(rule["id"]), str(rule.get("regex", ""))
    if name in OWN:
        return OWN[name]
    if name == "jwt-base64":
        bounded = regex.replace("{40,}", "{40,4000}")
        return ["zxlk"], re.sub(r"\(\?P<\w+>", "(?:", bounded)
    if name == "atlassian-api-token":
        # The other half is masked.
        regex = regex.partition(r"|\b(ATATT3")[0]
    found = BOUND.fullmatch(regex)
    if not found or not found["rest"].endswith(END):
        return None
    rest = found["rest"].removesuffix(END).replace("(?i)", "").replace("]+", "]{1,200}")
    # The value is the last top-level group.
    start = _value_at(rest)
    rest = f"{rest[:start]}(?P<secret>{rest[start + 1 :]}{AFTER}"
    if found["case"]:
        rest = f"(?i:{rest})"
    elif found["inner"]:
        rest = f"(?i:{rest}"
    words = WORDS.get(name) or [*map(str, rule["keywords"])]  # type: ignore[call-overload]
    return words, rest


def _value_at(rest: str) -> int:
    """Return the start of a pattern's last top-level group."""
    depth = 0
    for at in range(len(rest) - 1, -1, -1):
        escaped = rest[at - 1] == "\\" if at else False
        if rest[at] == ")" and not escaped:
            depth += 1
        elif rest[at] == "(" and not escaped:
            depth -= 1
            if depth == 0:
                return at
    raise ValueError(rest)


def main() -> None:
    """Write the file again."""
    given, commit = Path(sys.argv[1]).read_bytes(), sys.argv[2]
    rules = tomllib.loads(given.decode())["rules"]
    forms, masked = [], []
    for rule in rules:
        if rule["id"] in LEFT_OUT:
            continue
        made = translated(rule)
        if made is None:
            masked.append(rule["id"])
            continue
        words, pattern = made
        re.compile(pattern, re.ASCII)
        shown = ", ".join(f'"{word}"' for word in words)
        quoted = f"'{pattern}'" if "'" not in pattern else f"'''{pattern}'''"
        forms.append(
            f'\n[[form]]\nname = "{rule["id"]}"\nwords = [{shown}]\npattern = {quoted}\n'
        )
    digest = hashlib.sha256(given).hexdigest()
    RULES.write_text(HEAD.format(commit=commit, digest=digest) + "".join(forms))
    counts = f"{len(rules)} rules: {len(forms)} written, {len(LEFT_OUT)} left out"
    sys.stdout.write(f"{counts}\n{len(masked)} {MASKED}: {' '.join(masked)}\n")


if __name__ == "__main__":
    main()
