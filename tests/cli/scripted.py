"""A sprint with gates, and the script of its agent; `%s` is its behaviour."""

PLAN = """\
max-iterations: 40
retry: {maxAttempts: 2, backoffMs: [20], limitWaitMs: [20]}
phases:
  - id: setup
    prompt: Make a branch
  - id: build
    gate: {script: test -e repaired, on-fail-prompt: Repair it, max-retries: 2}
    steps:
      - id: login
        prompt: Let people log in
        phases:
          - {id: implement, prompt: Write it}
          - {id: check, prompt: Try it}
  - id: review
    prompt: Read it all
    gate: {script: 'true'}
"""
AGENT = """\
import os, sys
prompt = sys.stdin.read()
with open("said.txt", "a") as said:
    said.write(f"{os.environ['PHASE_ID']} {os.environ['ATTEMPT_NUMBER']} {prompt!r}\\n")
if "Repair it" in prompt:
    open("repaired", "w").close()
%s
print("did", os.environ["PHASE_ID"])
"""
