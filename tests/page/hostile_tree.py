"""A loop in a work tree whose agent writes hostile texts in every place it can."""

import json
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

from msgspec.structs import replace

from sprintlog.commands import AddLearning, AddNote
from sprintlog.engine.journal.parts import Learning
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sessions.events import SubagentStarted, ToolCalled, TouchedFile
from sprintlog.projections.workspace import Workspace

from ..adapters.trees import git

SPRINT = "night"
RUN = "onerror=window.ran="
TEXTS = (
    f"</template><template id=i1><img src {RUN}40>",
    f"<template id=head><article><img src {RUN}41></article></template>",
    f"</script\t><img src {RUN}42>",
    "<script/src=data:,window.ran=43></script>",
    f"--></noscript></title><img src {RUN}44>",
    "<svg/onload=window.ran=45><script>window.ran=46</script></svg>",
    "<svg><a xlink:href=javascript:window.ran=47><text y=20>x</text></a></svg>",
    "<svg><foreignObject><iframe srcdoc='<script>top.ran=48</script>'></foreignObject>",
    "</style><style>body{background:url(http://example.invalid/css)}</style>",
    "@import 'http://example.invalid/a.css'; *{position:fixed;width:9999px}",
    "<b style='position:fixed;inset:0;width:9000px;background:red'>cover</b>",
    "<table><tr><td>" * 20 + f"<img src {RUN}49>",
    f'#i7"><img src {RUN}50>',
    "javascript:window.ran=51//%0aalert(1)",
    f"' onfocus=window.ran=52 tabindex=0 autofocus x='<img src {RUN}53>",
    f'" onmouseover="window.ran=54" data-n="9"><img src {RUN}55>',
    "\u202eevil\u202c \u2067rtl\u2069 \u05d0\u05d1\u0640 \u200f\u200e",
    "zero\u200b\u200c\u200d\u2060\ufeffwidth\u00ad" * 30,
    "w" * 20_000,
    "\u0430\u0300" + "\u0301" * 400,
    "\ufdfd" * 60 + "\U00012031" * 60,
    "\x1b[2J\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\\x1b[31m",
    "nul\x00byte\x01\x07\x08\x7f\x9b31m",
    "\r\rover\x0bwritten\x0c\x85next",
    "`sprintlog rollback iter:1; rm -rf ~` & $(id) | sh",
    "iter:7 v12 ../../etc/passwd file:///etc/passwd http://example.invalid/",
    "@@ -0,0 +1 @@\n+++ b/x\n--- a/y\ndiff --git a/x b/x\nindex 0..1",
    "constructor __proto__ hasOwnProperty toString",
    "{% raw %}{{ self.__init__ }}<%= 7*7 %>#{7*7}[[${7*7}]]",
    f"<xmp><plaintext><listing><img src {RUN}56>",
)
"""Thirty texts, different from those of `hostile.py`."""
HASHES = (
    f'#i7"><img src {RUN}60>', "#i1..i2<svg onload=window.ran=61>", "#%", "#%E0%A4%A",
    "#javascript:window.ran=62", "#i999999999", "#i0..i999999999", "#i1..i1", "#i-1",
    "#__proto__", "#constructor", "#all", "#view", "#keys", "#notice", "#v99999999",
    "#head-title", "#%23i1", "#i1%2e%2ei2", "#" + "i" * 9_000,
)  # fmt: skip
"""Ends of links that somebody may send."""
ITERATIONS = 3
AGENT = """\
import json, os, pathlib
texts, number = json.load(open("../texts.json")), int(os.environ["ITERATION_NUMBER"])
for at, text in enumerate(texts):
    name = text.replace("/", "\\u2215").replace("\\0", "")[:60]
    line = f"{number} {text}\\n"
    pathlib.Path(name).write_text(line * 3, encoding="utf-8")
print("\\n".join(texts))
"""
MEASURE = """\
import json, os, sys
texts, number = json.load(open("../texts.json")), int(open("number").read() or 0)
open("number", "w").write(str(number + 1))
open("junit.xml", "w").write(open(f"../junit{number % 2}.xml").read())
print("\\n".join(texts))
sys.exit(1)
"""


def hostile_tree(folder: Path) -> Workspace:
    """Return the log of a loop with hostile files, lines, commits, tests and outputs."""
    tree = folder / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    (folder / "texts.json").write_text(json.dumps(TEXTS))
    (tree / "agent.py").write_text(AGENT)
    (tree / "measure.py").write_text(MEASURE)
    (tree / "number").write_text("0")
    (tree / ".gitignore").write_text("junit.xml\n")
    for number in range(2):
        _report(folder / f"junit{number}.xml", number)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "begin")
    goal = "\n".join(TEXTS).replace("\x00", " ")[:9000]
    measure = f"{sys.executable} measure.py"
    loop = ("run", "--snapshot", "--on-regression", "continue", "--measure", measure,
            "--report", "junit.xml", "--rest", "0")  # fmt: skip
    agent = ("--", sys.executable, "agent.py")
    _run(tree, "init", "--here")
    _run(tree, "sprint", "create", SPRINT, "--goal", goal)
    _run(tree, *loop, "--budget-iterations", str(ITERATIONS - 1), *agent)
    (tree / "by-hand").write_text("a person's line\n")
    for text in TEXTS[-20:]:  # an iteration shows at most 20 commits
        said = text.replace("\x00", "")[:3000]
        who = f"a {said[:200]}".translate(dict.fromkeys(map(ord, "<>\n")))
        git(tree, "-c", f"user.name={who}", "commit", "--allow-empty", "-qm", f"c {said}")
    _run(tree, *loop, "--budget-iterations", "1", *agent)
    workspace = Workspace.open(tree)
    _remember(workspace)
    return workspace


def _run(tree: Path, *words: str) -> None:
    """Run a command in the tree; a loop may end with any exit status."""
    program = [sys.executable, "-P", "-m", "sprintlog.cli"]
    ran = subprocess.run([*program, *words], cwd=tree, capture_output=True, check=False)
    assert ran.stdout, ran.stderr.decode()


def _report(file: Path, number: int) -> None:
    """Write a report of tests with hostile names; every other one fails."""
    cases = []
    for at, text in enumerate(TEXTS):
        name = "".join(x if x.isprintable() else "?" for x in text)[:3000]
        fails = "<failure/>" if at % 2 == number else ""
        cases.append(f"<testcase classname='c' name={quoteattr(name)}>{fails}</testcase>")
    file.write_text(f"<testsuite name='x'>{''.join(cases)}</testsuite>", encoding="utf-8")


def _remember(workspace: Workspace) -> None:
    """Record learnings, notes, and tools and subagents, with hostile names."""
    stream = f"sprint/{SPRINT}"
    read = workspace.log.read_stream(stream)
    begun = [x for x in read if x.type == "iteration-started"]
    calls: list[SubagentStarted | ToolCalled] = [
        SubagentStarted(x[:200], x[:200]) for x in TEXTS
    ]
    calls += [
        ToolCalled(x[:200], command=x, ok=False, files=(TouchedFile(x),)) for x in TEXTS
    ]
    new = [
        replace(new_event(x, at=begun[1].at, actor="agent:x"),
                correlation_id=begun[1].correlation_id)
        for x in calls
    ]  # fmt: skip
    workspace.log.append("session/claude-s1", new, expect=Expect.NONE)
    for text in TEXTS:
        learning = Learning(
            type="codebase-pattern", content=text, source_prd_id=SPRINT, still_valid=True
        )
        workspace.handle(AddLearning(learning), actor="agent:x")
        workspace.handle(AddNote(text), sprint_id=SPRINT, actor="agent:x")
