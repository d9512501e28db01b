"""A sprint with texts that must have no effect: markup, scripts, long words."""

from pathlib import Path

from msgspec.structs import replace

from sprintlog.commands import (
    AddNote,
    CompletePhase,
    CreateSprint,
    NeedHuman,
    QueueRequests,
    StartIteration,
    StartPhase,
    StartSprint,
    SubmittedRequest,
)
from sprintlog.engine.judging.events import MeasurementFailed, MeasuringRun
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sessions.events import (
    PromptGiven,
    SessionStarted,
    SubagentStarted,
    ToolCalled,
    TouchedFile,
    TurnEnded,
)
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.projections.workspace import Workspace

from .night import SPRINT

AT = "2026-01-15T21:00:00Z"
HOSTILE = (
    "<script>window.ran = 1</script>",
    '"><img src=http://example.invalid/x.png onerror=alert(1)>',
    "</script><script>window.ran = 2</script>",
    "</title></style><iframe src=http://example.invalid>",
    "<svg onload=alert(2)><a href=javascript:alert(3)>x</a>",
    "{{7*7}} ${window.ran=3} <!-- --> ]]>",
    "\u202egnp.exe\u2066 \u200b\x1b[31mred\x00",
    "x" * 1_000_000,
)
"""What agents write."""
MORE = (
    "<template><script>window.ran=4</script></template>",
    "</template><script>window.ran=5</script>",
    "</pre></article></main><script>window.ran=6</script>",
    "<details open ontoggle=window.ran=7><summary>x",
    "<body onhashchange=window.ran=8>",
    "<input autofocus onfocus=window.ran=9>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.ran=10>",
    "<svg><style><img title='</style><img src onerror=window.ran=11>'>",
    "<noscript><p title='</noscript><img src onerror=window.ran=12>'>",
    "<a href='data:text/html,<script>window.ran=13</script>'>click</a>",
    "<form action=javascript:window.ran=14><button>send",
    "<button formaction=javascript:window.ran=15>send</button>",
    "<meta http-equiv=refresh content='0;url=http://example.invalid'>",
    "<base href=http://example.invalid/><link rel=stylesheet href=x.css>",
    "<style>*{display:none!important}</style>",
    "<object data=http://example.invalid></object><embed src=x>",
    "<video><source onerror=window.ran=16></video>",
    "<svg><animate onbegin=window.ran=17 attributeName=x dur=1s>",
    "<svg><use href='data:image/svg+xml,<svg id=x/>#x'/></svg>",
    "<!--><img src onerror=window.ran=18>-->",
    "<![CDATA[<img src onerror=window.ran=19>]]>",
    "&lt;script&gt;window.ran=20&lt;/script&gt;",
    "&#60;img src onerror=window.ran=21&#62;",
    "\\u003cimg src onerror=window.ran=22\\u003e",
    "@@ -1 +1 @@\n+<img src onerror=window.ran=23>\n-</ins></pre>",
    "diff --git a b\n+++ <script>window.ran=24</script>",
    "`<img src onerror=window.ran=25>` 2026-01-15T21:00:00Z",
    "javascript:window.ran=26//' onmouseover='window.ran=27",
    "#i1' onclick='window.ran=28",
    "\u2028\u2029\ufeff\u061c<b>\u202eabc\u2069",
)
"""Thirty more, for the texts that only the views of iterations show."""


def hostile_night(folder: Path) -> Workspace:
    """Return a workspace with a sprint that has such texts in every field."""
    workspace = Workspace.in_memory(folder, clock=lambda: 0, entropy=bytes)
    phases = [{"id": f"p{n}\"<b>'", "prompt": said} for n, said in enumerate(HOSTILE)]

    def do(*commands: object) -> None:
        for command in commands:
            workspace.handle(
                command,
                sprint_id=SPRINT,
                at=AT,
                actor="agent:<b>x</b>",  # type: ignore[call-overload]
            )

    do(CreateSprint(plan={"sprint-id": SPRINT, "phases": phases}), StartSprint())
    for number, said in enumerate(HOSTILE):
        phase = phases[number]["id"]
        do(StartIteration(phase=phase), StartPhase(phase, "haiku"), AddNote(said))
        do(QueueRequests((SubmittedRequest(said[:200], "high", "bug", said),)))
        _work(workspace, number, MORE[5 * number : 5 * number + 5])
        if number == len(HOSTILE) - 2:
            do(NeedHuman(said, said, said, phase))
            return workspace
        do(CompletePhase(phase, said))
    return workspace


def _work(workspace: Workspace, number: int, texts: tuple[str, ...]) -> None:
    """Record a session, a run and a failed measurement with such texts in every field."""
    if not texts:
        return
    session = [
        SessionStarted(texts[0][:100], texts[1][:100]),
        PromptGiven(text="\n".join(texts), chars=9),
        *(ToolCalled(x[:100], command=x, ok=False, files=(TouchedFile(x),)) for x in texts),
        SubagentStarted(texts[2][:100], texts[3][:100]),
        TurnEnded(text="\n".join(texts), chars=9),
    ]
    runs = tuple(MeasuringRun(x, 1, output="\n".join(texts)) for x in texts)
    ran = AgentRan("", "failed", 1, output=texts[0], error=texts[1], iteration=number + 1,
                   sessions=(f"s{number}",))  # fmt: skip
    failed = MeasurementFailed(number + 1, texts[4], texts[3], output=texts[2], runs=runs)
    for stream, events in ((f"session/claude-s{number}", session),
                           (f"sprint/{SPRINT}", [ran, failed])):  # fmt: skip
        new = [new_event(x, at=AT, actor="agent:<b>x</b>") for x in events]
        named = [replace(x, correlation_id="hostile") for x in new]
        workspace.log.append(stream, named, expect=workspace.log.version(stream))
