/** The client against the real program: `node --test`, in an empty folder. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { RequestError, Sprintlog, type LoggedEvent } from "../src/client.js";

const PROGRAM: string[] = JSON.parse(process.env["SPRINTLOG_PROGRAM"] ?? '["sprintlog"]');
const folder = mkdtempSync(join(tmpdir(), "sprintlog-"));
let client: Sprintlog;

before(async () => {
  const [program, ...words] = PROGRAM;
  execFileSync(program!, [...words, "init"], { cwd: folder, stdio: "ignore" });
  client = await Sprintlog.start({
    command: [...PROGRAM, "rpc"],
    folder,
    actor: "agent:typescript",
  });
  const plan = { phases: [{ id: "setup", prompt: "Make a branch" }, { id: "ship", prompt: "Go" }] };
  await client.record(
    { type: "create-sprint", plan, place: { path: "PROGRESS.yaml" } },
    { sprint: "auth" },
  );
  await client.record({ type: "start-sprint" });
});

after(async () => {
  assert.equal(await client.close(), 0);
  rmSync(folder, { recursive: true });
});

test("a command is recorded, and the state file says so", async () => {
  const recorded = await client.record({ type: "start-phase", phase: "setup" });
  assert.ok("position" in recorded);
  assert.equal(recorded.type, "phase-started");
  assert.match(readFileSync(join(folder, "PROGRESS.yaml"), "utf8"), /in-progress/);
  const status = await client.ask("status");
  assert.equal(status.sprint, "auth");
  assert.equal(status.phases[0]!.status, "in-progress");
});

test("a key records once", async () => {
  const note = { type: "add-note", text: "hi" } as const;
  const first = await client.record(note, { key: "k" });
  const again = await client.record(note, { key: "k" });
  assert.deepEqual(again, { ...first, duplicate: true });
});

test("an event is recorded by its type", async () => {
  const recorded = await client.append("note-added", { text: "ho" });
  assert.ok("type" in recorded && recorded.type === "note-added");
});

test("a refusal is an error with its fields", async () => {
  const wrong = client.record({ type: "start-phase", phase: "nowhere" });
  await assert.rejects(wrong, (error: unknown) => {
    assert.ok(error instanceof RequestError);
    assert.equal(error.code, -32003);
    assert.equal(error.data["phase"], "nowhere");
    return true;
  });
  const late = client.record({ type: "add-note", text: "x" }, { expect: 1 });
  await assert.rejects(late, (error: unknown) => (error as RequestError).isConflict);
});

test("a question is answered by its type", async () => {
  const events = await client.ask("log", { after: 0, limit: 2 });
  assert.deepEqual(events.map((event) => event.type), ["sprint-compiled", "sprint-started"]);
  assert.equal(events[0]!.actor, "agent:typescript");
});

test("any other command is called", async () => {
  const called = await client.call("verify");
  assert.equal(called.exit_code, 0);
  assert.ok("sound" in called.answer && called.answer.sound);
});

test("a call can be ended", async () => {
  const ending = new AbortController();
  const long = client.call("run", ["--", "sleep", "600"], {
    signal: ending.signal,
    progress: () => ending.abort(),
  });
  setTimeout(() => ending.abort(), 2_000);
  await assert.rejects(long, (error: unknown) => (error as RequestError).code === -32800);
});

test("events are followed, once each and in order", async () => {
  const seen: LoggedEvent[] = [];
  const head = (await client.ask("log", { stream: "" })).length;
  for await (const event of client.follow(0)) {
    seen.push(event);
    if (seen.length === head) void client.record({ type: "add-note", text: "the last one" });
    if (event.type === "note-added" && event.data?.text === "the last one") break;
  }
  assert.deepEqual(seen.map((event) => event.position), seen.map((_, index) => index + 1));
});

test("who asks after the end is told", async () => {
  const other = await Sprintlog.start({ command: [...PROGRAM, "rpc"], folder });
  assert.equal(await other.close(), 0);
  await assert.rejects(other.ask("status"), /has ended/);
});

test("a server is shared by clients, and starts no process", async () => {
  const [program, ...words] = PROGRAM;
  const server = spawn(program!, [...words, "rpc", "--listen"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [path] = await once(server.stdout, "data");
  const socket = String(path).trim();
  const clients = await Promise.all(
    ["one", "two"].map((name) => Sprintlog.connect(socket, { actor: `agent:${name}` })),
  );
  const noted = await Promise.all(
    clients.map((one) => one.record({ type: "add-note", text: "together" })),
  );
  assert.equal(new Set(noted.map((one) => "position" in one && one.position)).size, 2);
  await assert.rejects(clients[0]!.call("status"), /a socket starts no process/);
  assert.deepEqual(await Promise.all(clients.map((one) => one.close())), [0, 0]);
  server.kill();
  await once(server, "close");
});
