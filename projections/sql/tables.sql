-- The tables of the read model, with the meaning of every table and column. The statement
-- below a table adds a sprint's or session's rows after a version, derived from `v_events`.

-- Every event of the log.
CREATE TABLE v_events (
  position INTEGER, -- place in the log: 1, 2, 3 …
  stream TEXT, -- `sprint/ID`, or another stream
  sprint TEXT, -- the sprint's id; null in another stream
  version INTEGER, -- place in the stream: 1, 2, 3 …
  id TEXT, -- UUIDv7
  type TEXT, -- the event's wire tag
  at TEXT, -- when it happened, ISO 8601 in UTC
  recorded_at TEXT, -- when it was appended
  actor TEXT, -- who caused it
  correlation_id TEXT, -- the work it belongs to
  causation_id TEXT, -- the event that caused it
  key TEXT, -- idempotency key
  observed INTEGER, -- 1 if another tool reported it
  phase TEXT, -- its address, if any
  iteration INTEGER, -- the iteration it happened in; 0 before the first
  in_force INTEGER, -- 0 if a rollback discarded it
  data TEXT, -- the payload as JSON in the current shape; null if erased
  hash TEXT, -- the chain's hash, in hexadecimal
  PRIMARY KEY (position), UNIQUE (stream, version)
);

-- The current state of every sprint.
CREATE TABLE v_sprints (
  sprint TEXT, -- the sprint's id
  version INTEGER, -- its last version
  status TEXT, -- its status
  mode TEXT, -- `standard`, `ralph`, or null
  goal TEXT, -- the goal of a Ralph loop
  last_activity TEXT, -- when its last event happened
  started_at TEXT, -- when it was started
  completed_at TEXT, -- when it was completed
  total_phases INTEGER, -- number of top phases
  completed_phases INTEGER, -- number of completed ones
  path TEXT, -- its state file, relative to the work tree
  PRIMARY KEY (sprint)
);

-- The current state of every phase, step and sub-phase.
CREATE TABLE v_phases (
  sprint TEXT, -- the sprint's id
  address TEXT, -- ids from the top: `build/login/check`
  parent TEXT, -- the address above; null for a top phase
  number INTEGER, -- its place in the document, from 1
  level INTEGER, -- 1 phase, 2 step, 3 sub-phase
  is_leaf INTEGER, -- 1 if it has no children and is executed
  is_current INTEGER, -- 1 if the pointer is on it
  id TEXT, -- its id
  status TEXT, -- its status
  prompt TEXT, -- the task
  model TEXT, -- the model that executes it
  started_at TEXT, -- when it was started
  completed_at TEXT, -- when it was completed
  summary TEXT, -- the result
  error TEXT, -- the error
  next_retry_at TEXT, -- the earliest time of a retry
  injected INTEGER, -- 1 if it was injected
  gate_status TEXT, -- its gate's status; null without a gate
  gate_attempts INTEGER, -- number of checks of its gate
  PRIMARY KEY (sprint, address)
);

-- Every decision, as `audit` lists them.
CREATE TABLE v_decisions (
  sprint TEXT, -- the sprint's id
  position INTEGER, -- place in the log
  version INTEGER, -- place in the sprint's stream
  at TEXT, -- when it happened, ISO 8601 in UTC
  actor TEXT, -- who caused it
  observed INTEGER, -- 1 if another tool reported it
  kind TEXT, -- the kind of decision
  type TEXT, -- the event's wire tag
  about TEXT, -- its address; empty for the sprint
  said TEXT, -- the decision and its reason
  evidence TEXT, -- its evidence
  followed TEXT, -- its consequence, or empty
  in_force INTEGER, -- 0 if a rollback discarded it
  PRIMARY KEY (sprint, version)
);

-- Every check of a gate.
CREATE TABLE v_gates (
  sprint TEXT, -- the sprint's id
  position INTEGER, -- place in the log
  version INTEGER, -- place in the sprint's stream
  at TEXT, -- when it happened, ISO 8601 in UTC
  actor TEXT, -- who caused it
  phase TEXT, -- the address of the gate
  attempt INTEGER, -- the attempt
  passed INTEGER, -- 1 if it passed
  exit_code INTEGER, -- exit status of its script
  timed_out INTEGER, -- 1 if its time limit was reached
  duration_ms INTEGER, -- how long it took
  output TEXT, -- its output; of long output head and tail
  output_sha256 TEXT, -- sha256 of all of the output
  elsewhere INTEGER, -- 1 for an external result
  in_force INTEGER, -- 0 if a rollback discarded it
  PRIMARY KEY (sprint, version)
);
INSERT INTO v_gates SELECT sprint, position, version, at, actor, phase,
  json_extract(data, '$.attempt'),
  json_extract(data, '$.exit_code') = 0
    AND coalesce(json_extract(data, '$.timed_out'), 0) = 0,
  json_extract(data, '$.exit_code'),
  coalesce(json_extract(data, '$.timed_out'), 0),
  json_extract(data, '$.duration_ms'),
  coalesce(json_extract(data, '$.output'), ''),
  json_extract(data, '$.output_sha256'),
  coalesce(json_extract(data, '$.elsewhere'), 0),
  in_force
FROM v_events WHERE stream = :stream AND version > :after AND +type = 'gate-checked';

-- Every iteration that was started.
CREATE TABLE v_iterations (
  sprint TEXT, -- the sprint's id
  position INTEGER, -- place in the log
  version INTEGER, -- place in the sprint's stream
  at TEXT, -- when it happened, ISO 8601 in UTC
  actor TEXT, -- who caused it
  number INTEGER, -- its number, never reused
  max_iterations INTEGER, -- the limit of the loop
  last_version INTEGER, -- the last version that belongs to it
  last_at TEXT, -- when the last event of it happened
  events INTEGER, -- number of its events, including its start
  in_force INTEGER, -- 0 if a rollback discarded its start
  class TEXT, -- its class; null if not measured
  score REAL, -- its quality, 0 to 1
  change REAL, -- score minus that of the iteration it was built on, on common components
  verified INTEGER, -- 1 if its tests are known and passed, and it changed no measure
  metrics TEXT, -- its metrics as JSON
  runs INTEGER, -- number of agent runs
  duration_ms INTEGER, -- duration of the agent runs
  turns INTEGER, -- number of answers of the model
  input_tokens INTEGER, -- input tokens without cache reads
  output_tokens INTEGER, -- output tokens
  cache_creation_tokens INTEGER, -- tokens written to a cache
  cache_read_tokens INTEGER, -- tokens read from a cache
  tokens INTEGER, -- input, cache creation and output together
  at_least TEXT, -- a JSON list of the figures that are lower bounds
  cost_usd REAL, -- cost in US dollars
  agent TEXT, -- the agent of its last run; null if unknown
  params TEXT, -- its parameters as JSON; null if unknown
  tags TEXT, -- a JSON list; null without any
  notes TEXT, -- a JSON list; null without any
  git_head TEXT, -- the commit at its end
  git_dirty INTEGER, -- 1 if the work tree differed from it
  PRIMARY KEY (sprint, version)
);
INSERT INTO v_iterations SELECT s.sprint, s.position, s.version, s.at, s.actor, s.iteration,
  json_extract(s.data, '$.max_iterations'), l.version, l.at,
  (SELECT count(*) FROM v_events WHERE sprint = :sprint AND iteration = s.iteration),
  s.in_force, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM v_events s JOIN v_events l ON l.stream = s.stream AND l.version = (
  SELECT max(version) FROM v_events WHERE sprint = :sprint AND iteration = s.iteration
)
WHERE s.stream = :stream AND s.version > :after AND +s.type = 'iteration-started';

-- Every call of a tool that agents made.
CREATE TABLE v_tool_calls (
  session TEXT, -- `AGENT-ID`
  position INTEGER, -- place in the log
  version INTEGER, -- place in the session's stream
  at TEXT, -- when it ended, ISO 8601 in UTC
  correlation_id TEXT, -- the work it belongs to
  tool TEXT, -- the agent's name of it
  call TEXT, -- the agent's id of it
  ok INTEGER, -- 1 if it worked, 0 if it failed; null if unknown
  exit_code INTEGER, -- exit status of its command
  duration_ms INTEGER, -- how long it took
  command TEXT, -- the beginning of the command
  path TEXT, -- its first file
  files INTEGER, -- number of files
  lines_added INTEGER, -- number of added lines
  lines_removed INTEGER, -- number of removed lines
  subagent TEXT, -- the subagent that called it
  unfinished INTEGER, -- 1 if its end is unknown
  found_in TEXT, -- `transcript` or `stream` if no hook reported it
  PRIMARY KEY (session, version)
);
INSERT INTO v_tool_calls SELECT substr(stream, 9), position, version, at, correlation_id,
  json_extract(data, '$.tool'), json_extract(data, '$.call'), json_extract(data, '$.ok'),
  json_extract(data, '$.exit_code'), json_extract(data, '$.duration_ms'),
  json_extract(data, '$.command'), json_extract(data, '$.files[0].path'),
  coalesce(json_array_length(data, '$.files'), 0),
  (SELECT sum(json_extract(value, '$.added')) FROM json_each(data, '$.files')),
  (SELECT sum(json_extract(value, '$.removed')) FROM json_each(data, '$.files')),
  json_extract(data, '$.subagent'), coalesce(json_extract(data, '$.is_unfinished'), 0),
  json_extract(data, '$.found_in')
FROM v_events WHERE stream = :stream AND version > :after AND +type = 'tool-called';

-- Every session of an agent.
CREATE TABLE v_sessions (
  session TEXT, -- `AGENT-ID`
  agent TEXT, -- its agent
  version INTEGER, -- its last version
  started_at TEXT, -- when its first event happened
  last_at TEXT, -- when its last event happened
  ended INTEGER, -- 1 if its last event is an end
  tool_calls INTEGER, -- number of tool calls
  failed_calls INTEGER, -- number of failed calls
  prompts INTEGER, -- number of prompts
  turns INTEGER, -- number of answers
  subagents INTEGER, -- number of subagents
  correlation_id TEXT, -- the work that its last event belongs to
  PRIMARY KEY (session)
);
INSERT INTO v_sessions SELECT substr(:stream, 9), substr(:stream, 9, instr(:stream, '-') - 9),
  max(version), min(at), max(at),
  (SELECT type FROM v_events WHERE stream = :stream ORDER BY version DESC LIMIT 1)
    = 'session-ended',
  sum(type = 'tool-called'),
  sum(type = 'tool-called' AND json_extract(data, '$.ok') = 0),
  sum(type = 'prompt-given'), sum(type = 'turn-ended'), sum(type = 'subagent-started'),
  (SELECT correlation_id FROM v_events WHERE stream = :stream
    ORDER BY version DESC LIMIT 1)
FROM v_events WHERE stream = :stream;

-- `follow_ups` contains consequences of decisions regardless of rollbacks, `open_troubles`
-- failures by version; both are needed to continue the decisions. `upto` is the head of the
-- log that the file represents.
CREATE INDEX v_events_type ON v_events (type);
CREATE INDEX v_events_phase ON v_events (sprint, phase);
CREATE INDEX v_events_iteration ON v_events (sprint, iteration, version);
CREATE INDEX v_iterations_number ON v_iterations (sprint, number);
CREATE TABLE follow_ups (sprint TEXT, version INTEGER, awaited TEXT, followed TEXT, PRIMARY KEY (sprint, version));
CREATE INDEX follow_ups_awaited ON follow_ups (sprint, awaited) WHERE followed = '';
CREATE TABLE open_troubles (sprint TEXT, version INTEGER, troubles TEXT, advice TEXT, PRIMARY KEY (sprint, version));
CREATE TABLE upto (position INTEGER NOT NULL, hash BLOB NOT NULL);
