/**
 * A client of `sprintlog rpc`: commands, events, questions and processes, typed.
 *
 * It needs Node 20 or newer and a `sprintlog` on the PATH, and nothing else.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createConnection, Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

import type {
  CommandAnswers,
  QuestionAnswers,
  QuestionGiven,
  RecordedAnswer,
  WholeEvent,
} from "./answers.js";
import type { Command } from "./commands.js";
import type { EventData } from "./events.js";
import { PROTOCOL, type Following, type Initialized, type Record as RecordParams } from "./methods.js";

/** What can be said of the events that are recorded. */
export type About = Omit<RecordParams, "command">;

/** An event of the log; `data` is null where it was erased. */
export type LoggedEvent = {
  [Type in keyof EventData]: WholeEvent & { type: Type; data: EventData[Type] | null };
}[keyof EventData];

/** How a command ended that was done by a process. */
export interface Called<Answer> {
  exit_code: number;
  answer: Answer;
}

/** Who asks a server, and for what. */
export interface ClientOptions {
  /** Who causes what is recorded, like `agent:my-program`. */
  actor?: string;
  /** Which sprint is meant; by default the only unfinished one. */
  sprint?: string;
}

/** How a server is started. */
export interface StartOptions extends ClientOptions {
  /** What is run; by default `sprintlog rpc`. */
  command?: readonly string[];
  /** The work tree; by default the current folder. */
  folder?: string;
}

/** How a process is watched. */
export interface CallOptions {
  /** What it reads on standard input. */
  input?: string;
  /** Ends it. */
  signal?: AbortSignal;
  /** Is given each line that it says to people. */
  progress?: (text: string) => void;
}

/** A request that was refused, or that failed. */
export class RequestError extends Error {
  /** -32000 less the exit code that the command would have, or a code of JSON-RPC. */
  readonly code: number;
  /** The fields of `--json`: `error`, `message`, `hint` and what else is known. */
  readonly data: { [name: string]: unknown };

  constructor(code: number, message: string, data: { [name: string]: unknown }) {
    super(message);
    this.name = "RequestError";
    this.code = code;
    this.data = data;
  }

  /** Tells whether somebody was first: read again, decide again. */
  get isConflict(): boolean {
    return this.code === -32005;
  }
}

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: Error) => void;
  progress: ((text: string) => void) | undefined;
}

interface Subscriber {
  take: (event: LoggedEvent) => void;
  end: (error: Error) => void;
}

interface Message {
  id?: number | null;
  result?: unknown;
  error?: { code: number; message: string; data?: { [name: string]: unknown } };
  method?: string;
  params?: { [name: string]: unknown };
}

/** A server that was started, or that is shared, and what waits for its answers. */
export class Sprintlog {
  readonly #output: Writable;
  readonly #waiting = new Map<number, Waiting>();
  readonly #subscribers = new Map<number, Subscriber>();
  readonly #ended: Promise<number>;
  #number = 0;
  #isOver = false;

  private constructor(server: ChildProcess | Socket) {
    const isSocket = server instanceof Socket;
    const input: Readable = isSocket ? server : server.stdout!;
    this.#output = isSocket ? server : server.stdin!;
    const lines = createInterface({ input });
    lines.on("line", (line) => this.#take(JSON.parse(line) as Message));
    this.#output.on("error", () => undefined);
    this.#ended = new Promise((resolve) => {
      server.on("error", (error: Error) => {
        this.#over(error);
        resolve(-1);
      });
      server.on("close", (code: number | null | boolean) => {
        this.#over(new Error("the server has ended"));
        resolve(isSocket ? (code ? -1 : 0) : typeof code === "number" ? code : -1);
      });
    });
  }

  /** Start a server and agree with it on the protocol. */
  static async start(options: StartOptions = {}): Promise<Sprintlog> {
    const [program, ...words] = options.command ?? ["sprintlog", "rpc"];
    if (program === undefined) throw new RangeError("command: is empty");
    const child = spawn(program, words, {
      ...(options.folder === undefined ? {} : { cwd: options.folder }),
      stdio: ["pipe", "pipe", "inherit"],
    });
    return new Sprintlog(child).#agree(options);
  }

  /** Connect to a server that others share: by the path that `sprintlog rpc --listen` prints. */
  static async connect(path: string, options: ClientOptions = {}): Promise<Sprintlog> {
    const socket = createConnection(path);
    await once(socket, "connect");
    return new Sprintlog(socket).#agree(options);
  }

  async #agree(options: ClientOptions): Promise<Sprintlog> {
    await this.#ask<Initialized>("initialize", {
      protocol: PROTOCOL,
      client: { name: "sprintlog-typescript" },
      ...(options.actor === undefined ? {} : { actor: options.actor }),
      ...(options.sprint === undefined ? {} : { sprint: options.sprint }),
    });
    return this;
  }

  /** Record a command; a `key` in `about` makes it safe to repeat. */
  record(command: Command, about: About = {}): Promise<RecordedAnswer> {
    return this.#ask("record", { ...about, command });
  }

  /** Record an event by the command that would have caused it. */
  append<Type extends keyof EventData>(
    type: Type,
    data: Partial<EventData[Type]>,
    about: Omit<About, "sprint"> & { stream?: string; observed?: boolean } = {},
  ): Promise<RecordedAnswer> {
    return this.#ask("append", { ...about, type, data });
  }

  /** Ask a question; nothing is recorded. */
  ask<Question extends keyof QuestionAnswers>(
    question: Question,
    given: QuestionGiven[Question] = {},
  ): Promise<QuestionAnswers[Question]> {
    return this.#ask("ask", { question, given });
  }

  /** Do any command that answers with `--json`, by a process; a shared server starts none. */
  async call<Name extends keyof CommandAnswers>(
    name: Name,
    words: readonly string[] = [],
    options: CallOptions = {},
  ): Promise<Called<CommandAnswers[Name]>> {
    options.signal?.throwIfAborted();
    const params = {
      words: [...name.split(" "), ...words],
      ...(options.input === undefined ? {} : { input: options.input }),
    };
    const asked = this.#send<Called<CommandAnswers[Name]>>("call", params, options.progress);
    const cancel = () => void this.#notify("cancel", { id: asked.id });
    options.signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await asked.answer;
    } finally {
      options.signal?.removeEventListener("abort", cancel);
    }
  }

  /** Yield each event after a position, once and in order, and those that come. */
  async *follow(
    after?: number,
    stream?: string,
  ): AsyncGenerator<LoggedEvent, void, undefined> {
    const events: LoggedEvent[] = [];
    let failed: Error | undefined;
    let wake: () => void = () => undefined;
    const subscriber: Subscriber = {
      take: (event) => {
        events.push(event);
        wake();
      },
      end: (error) => {
        failed = error;
        wake();
      },
    };
    const found = await this.#ask<Following>(
      "follow",
      { ...(after === undefined ? {} : { after }), ...(stream === undefined ? {} : { stream }) },
      (value) => this.#subscribers.set((value as Following).subscription, subscriber),
    );
    try {
      while (true) {
        for (let event = events.shift(); event; event = events.shift()) yield event;
        if (failed) throw failed;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#subscribers.delete(found.subscription);
      if (!this.#isOver) await this.#ask("unfollow", { subscription: found.subscription });
    }
  }

  /** Answer the JSON Schema of commands, events or answers. */
  schema(of: "commands" | "events" | "answers"): Promise<{ [name: string]: unknown }> {
    return this.#ask("schema", { of });
  }

  /** End the server, or leave one that is shared, once all is answered; return its exit code. */
  close(): Promise<number> {
    this.#output.end();
    return this.#ended;
  }

  #ask<Answer>(
    method: string,
    params: object,
    before?: (value: unknown) => void,
  ): Promise<Answer> {
    return this.#send<Answer>(method, params, undefined, before).answer;
  }

  #send<Answer>(
    method: string,
    params: object,
    progress?: (text: string) => void,
    before?: (value: unknown) => void,
  ): { id: number; answer: Promise<Answer> } {
    const id = ++this.#number;
    const answer = new Promise<Answer>((resolve, reject) => {
      if (this.#isOver) {
        reject(new Error("the server has ended"));
        return;
      }
      const done = (value: Answer) => {
        // Before the next line is read: it may be an event of this subscription.
        before?.(value);
        resolve(value);
      };
      this.#waiting.set(id, { resolve: done as Waiting["resolve"], reject, progress });
      this.#write({ jsonrpc: "2.0", id, method, params });
    });
    return { id, answer };
  }

  #notify(method: string, params: object): void {
    if (!this.#isOver) this.#write({ jsonrpc: "2.0", method, params });
  }

  #write(message: object): void {
    this.#output.write(`${JSON.stringify(message)}\n`);
  }

  #take(message: Message): void {
    if (message.method !== undefined) {
      this.#told(message.method, message.params ?? {});
      return;
    }
    const waiting = this.#waiting.get(message.id ?? -1);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id ?? -1);
    if (message.error) {
      const { code, message: said, data } = message.error;
      waiting.reject(new RequestError(code, said, data ?? {}));
    } else {
      waiting.resolve(message.result as never);
    }
  }

  #told(method: string, params: { [name: string]: unknown }): void {
    const subscriber = this.#subscribers.get(params["subscription"] as number);
    switch (method) {
      case "event":
        subscriber?.take(params["event"] as LoggedEvent);
        break;
      case "ended": {
        const error = params["error"] as { message: string };
        subscriber?.end(new RequestError(-32001, error.message, { ...error }));
        break;
      }
      case "progress":
        this.#waiting.get(params["id"] as number)?.progress?.(params["text"] as string);
        break;
      default:
      // A newer server tells more than this client knows.
    }
  }

  #over(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
    for (const subscriber of this.#subscribers.values()) subscriber.end(error);
  }
}
