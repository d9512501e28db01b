// Made by `sprintlog setup opencode`; `sprintlog setup --remove` removes it.
// It hands what the agent did to sprintlog, and changes nothing of it.
import { spawn } from "node:child_process"

const EVENTS = ["session.created", "session.idle", "session.error", "session.compacted"]

export const Sprintlog = async ({ directory }) => {
  const record = (k, o) => {
    try {
      const stdio = ["pipe", "ignore", "ignore"]
      const options = { cwd: directory, detached: true, stdio }
      const child = spawn("sprintlog", ["hook", "opencode"], options)
      child.on("error", () => {})
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify({ k, t: Date.now(), o }))
      child.unref()
    } catch {}
  }
  return {
    event: async ({ event }) => {
      if (EVENTS.includes(event.type)) record("event", event)
    },
    "chat.message": async (input) => record("chat", { i: input }),
    "tool.execute.after": async (input, output) => record("after", { i: input, o: output }),
  }
}
