-- A log in PostgreSQL 14 or newer. Everything is in the schema `sprintlog`.
--
-- A position is the one behind the last event: the key of the table lets one event have it,
-- so there is no gap. Writers that meet queue at the row of their log.
-- Payloads are the exact bytes that were recorded; `sprintlog.v_events` shows them as JSON.

CREATE TABLE sprintlog.logs (
  id integer PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  identity text NOT NULL
);

-- Without CHECK constraints: each would be read anew for every event. The functions below,
-- which alone insert, see to it; who owns the table is seen by the chain.
CREATE TABLE sprintlog.events (
  log integer NOT NULL,
  position bigint NOT NULL,
  stream text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  schema_version integer NOT NULL,
  at text COLLATE "C" NOT NULL,
  recorded_at text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  correlation_id text COLLATE "C" NOT NULL,
  causation_id text COLLATE "C" NOT NULL,
  key text COLLATE "C",
  key_digest bytea,
  remaining integer NOT NULL,
  observed boolean NOT NULL,
  salt bytea,
  payload bytea,
  payload_digest bytea NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (log, position),
  CONSTRAINT events_version UNIQUE (log, stream, version),
  -- An append whose answer was lost is found by it, and cannot come a second time.
  CONSTRAINT events_id UNIQUE (log, id)
);
CREATE UNIQUE INDEX events_key ON sprintlog.events (log, key) WHERE key IS NOT NULL;

CREATE TABLE sprintlog.leases (
  log integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  token bigint NOT NULL,
  holder text,
  host text,
  since timestamptz,
  heartbeat timestamptz,
  expires timestamptz,
  PRIMARY KEY (log, name)
) WITH (fillfactor = 50);

-- Nobody changes an event, its owner neither. An erasure takes payload and salt away, and
-- puts what remains in the place of the payload, in the same transaction as the event that says so, and nothing else.
CREATE FUNCTION sprintlog.events_never_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF current_setting('sprintlog.erasing', true) = 'on'
    AND OLD.salt IS NOT NULL AND NEW.salt IS NULL THEN
    OLD.payload := NEW.payload;
    OLD.salt := NULL;
    IF NEW IS NOT DISTINCT FROM OLD THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'events are never changed' USING ERRCODE = 'restrict_violation';
END $$;
CREATE FUNCTION sprintlog.events_never_go() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'events are never deleted' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER events_never_change BEFORE UPDATE ON sprintlog.events
  FOR EACH ROW EXECUTE FUNCTION sprintlog.events_never_change();
CREATE TRIGGER events_never_go BEFORE DELETE OR TRUNCATE ON sprintlog.events
  FOR EACH STATEMENT EXECUTE FUNCTION sprintlog.events_never_go();
CREATE FUNCTION sprintlog.logs_never_go() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'logs are never deleted' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER logs_never_go BEFORE DELETE OR TRUNCATE ON sprintlog.logs
  FOR EACH STATEMENT EXECUTE FUNCTION sprintlog.logs_never_go();
ALTER TABLE sprintlog.events ENABLE ALWAYS TRIGGER events_never_change;
ALTER TABLE sprintlog.events ENABLE ALWAYS TRIGGER events_never_go;
ALTER TABLE sprintlog.logs ENABLE ALWAYS TRIGGER logs_never_go;

-- MessagePack, each value in its smallest form, as the hash covers it. Called stable, as
-- `convert_to` is: so they become part of the expression that they stand in. That is made
-- ready anew for every append, so it looks kinds and lengths up in tables instead of asking
-- for each: a third of what an append took went there. What is longer than any field of an
-- envelope may be, or less than 0, becomes NULL, which no column of a hash takes.
CREATE FUNCTION sprintlog.text_heads() RETURNS bytea[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  -- 160 characters of four bytes are the longest; an index is a length, from 0 on.
  SELECT ('[0:640]=' || array_agg(CASE
      WHEN n < 32 THEN substr(int4send(160 + n), 4)
      WHEN n < 256 THEN '\xd9'::bytea || substr(int4send(n), 4)
      ELSE '\xda'::bytea || substr(int4send(n), 3)
    END ORDER BY n)::text)::bytea[]
  FROM generate_series(0, 640) n
$$;
CREATE FUNCTION sprintlog.packed(_n bigint) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT ('{"","\\xcc","\\xcd","\\xce","\\xcf"}'::bytea[])[
      width_bucket(_n, '{0,128,256,65536,4294967296}'::bigint[])]
    || substr(int8send(_n), ('{8,8,7,5,1}'::integer[])[
      width_bucket(_n, '{0,128,256,65536,4294967296}'::bigint[])])
$$;
CREATE FUNCTION sprintlog.packed(_text text) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (sprintlog.text_heads())[octet_length(_text)] || convert_to(_text, 'UTF8')
$$;
CREATE FUNCTION sprintlog.packed(_bytes bytea) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN _bytes IS NULL THEN '\xc0'::bytea
    WHEN length(_bytes) < 256
    THEN '\xc4'::bytea || substr(int4send(length(_bytes)), 4) || _bytes END
$$;
CREATE FUNCTION sprintlog.header(
  _position bigint, _stream text, _version bigint, _id text, _type text,
  _schema_version integer, _at text, _recorded_at text, _actor text, _correlation_id text,
  _causation_id text, _key text, _key_digest bytea, _remaining integer, _observed boolean
) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT '\x9f'::bytea
    || sprintlog.packed(_position) || sprintlog.packed(_stream) || sprintlog.packed(_version)
    || sprintlog.packed(_id) || sprintlog.packed(_type)
    || sprintlog.packed(_schema_version::bigint) || sprintlog.packed(_at)
    || sprintlog.packed(_recorded_at) || sprintlog.packed(_actor)
    || sprintlog.packed(_correlation_id) || sprintlog.packed(_causation_id)
    || CASE WHEN _key IS NULL THEN '\xc0'::bytea ELSE sprintlog.packed(_key) END
    || sprintlog.packed(_key_digest)
    || sprintlog.packed(_remaining::bigint)
    || CASE WHEN _observed THEN '\xc3'::bytea ELSE '\xc2'::bytea END
$$;

-- Whether all that a statement sees is durable: an append gives its lock back before. Where
-- a standby is waited for it does not.
CREATE FUNCTION sprintlog.is_settled() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  -- Named whole: a search path of its own would cost more.
  RETURN pg_catalog.pg_is_in_recovery()
    OR pg_catalog.current_setting('synchronous_standby_names') OPERATOR(pg_catalog.<>) ''
    OR pg_catalog.pg_current_wal_flush_lsn()
      OPERATOR(pg_catalog.>=) pg_catalog.pg_current_wal_insert_lsn();
END $$;

-- One event, in one round trip, right behind the head that its writer was told last, where
-- that is an event of the same stream: no lock, the keys of the table refuse whoever comes
-- second. Returns its hash, or NULL where anything is not as the writer believes: `append`
-- says what. A head is asked for by its order: so it is found by the key, whatever the server
-- knows of the table yet.
CREATE FUNCTION sprintlog.append_next(
  _log integer, _known bigint, _known_hash bytea, _wait text, _stream text, _version bigint,
  _key text, _key_digest bytea, _recorded_at text, _id text, _type text, _shape integer,
  _at text, _actor text, _correlation text, _causation text, _observed boolean,
  _salt bytea, _payload bytea
) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _digest bytea := sha256(_salt || _payload);
  _hash bytea := sha256(_known_hash || sprintlog.header(
    _known + 1, _stream, _version + 1, _id, _type, _shape, _at, _recorded_at, _actor,
    _correlation, _causation, _key, _key_digest, 0, _observed) || _digest);
BEGIN
  INSERT INTO sprintlog.events
    SELECT _log, _known + 1, _stream, _version + 1, _id, _type, _shape, _at, _recorded_at,
      _actor, _correlation, _causation, _key, _key_digest, 0, _observed, _salt, _payload,
      _digest, _hash
    FROM (SELECT e.position, e.stream, e.version, e.hash FROM sprintlog.events e
      WHERE e.log = _log ORDER BY e.position DESC LIMIT 1) head
    WHERE head.position = _known AND head.hash = _known_hash
    AND head.stream = _stream AND head.version = _version
    AND set_config('lock_timeout', _wait, true) IS NOT NULL
    AND (current_setting('synchronous_commit') <> ALL ('{off,local}')
      OR set_config('synchronous_commit', 'on', true) IS NOT NULL)
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    RETURN _hash;
  END IF;
  RETURN NULL;
END $$;

-- One append, in one round trip: behind whoever else appends it looks for the key, compares
-- the expectation, chains and inserts. `outcome` says what became of it:
--   appended  behind `place`, the hash there and `version`; `last` is the hash of its end
--   known     the key was used before, at `place`
--   done      this very append came through before, at `place`; its answer was lost
--   conflict  the stream is at `version`
--   fenced    somebody else holds the lease
--   lost      the log does not hold the head that this writer had been told
--   gone      there is no such log
-- Arrays hold the events behind the first, where there are any. With `_settles` its commit
-- does not wait for the disk: the caller answers nobody before it settled.
CREATE FUNCTION sprintlog.append(
  _log integer, _known bigint, _known_hash bytea, _lease text, _token bigint, _again boolean,
  _wait text, _stream text, _least bigint, _most bigint, _key text, _key_digest bytea,
  _recorded_at text, _id text, _type text, _shape integer, _at text, _actor text,
  _correlation text, _causation text, _observed boolean, _salt bytea, _payload bytea,
  _ids text[] DEFAULT NULL, _types text[] DEFAULT NULL,
  _shapes integer[] DEFAULT NULL, _ats text[] DEFAULT NULL, _actors text[] DEFAULT NULL,
  _correlations text[] DEFAULT NULL, _causations text[] DEFAULT NULL,
  _observations boolean[] DEFAULT NULL, _salts bytea[] DEFAULT NULL,
  _payloads bytea[] DEFAULT NULL, _settles boolean DEFAULT false,
  OUT outcome text, OUT place bigint, OUT hash bytea, OUT version bigint, OUT last bytea
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _more integer := coalesce(cardinality(_ids), 0);
  _found bytea;
  _digest bytea;
  _position bigint;
BEGIN
  -- Settings are part of the question, since each statement costs. What this writer was told
  -- is looked for before it has the lock.
  SELECT (SELECT e.hash FROM sprintlog.events e WHERE e.log = _log AND e.position <= _known
      ORDER BY e.position DESC LIMIT 1)
    INTO _found FROM sprintlog.logs l
    WHERE l.id = _log AND set_config('lock_timeout', _wait, true) IS NOT NULL
    AND CASE
      WHEN _settles AND current_setting('synchronous_standby_names') = ''
      THEN set_config('synchronous_commit', 'off', true) IS NOT NULL
      WHEN current_setting('synchronous_commit') IN ('off', 'local')
      THEN set_config('synchronous_commit', 'on', true) IS NOT NULL
      ELSE true END
    FOR NO KEY UPDATE OF l;
  IF NOT FOUND THEN
    outcome := 'gone';
    RETURN;
  END IF;
  IF _known > 0 AND _found IS DISTINCT FROM _known_hash THEN
    outcome := 'lost';
    RETURN;
  END IF;
  LOOP
    -- A statement of its own: the one that waited for the lock sees nothing of what was
    -- committed meanwhile.
    SELECT e.position, e.hash, (
        SELECT v.version FROM sprintlog.events v
        WHERE v.log = _log AND v.stream = _stream ORDER BY v.version DESC LIMIT 1)
      INTO place, hash, version
      FROM sprintlog.events e WHERE e.log = _log ORDER BY e.position DESC LIMIT 1;
    IF NOT FOUND THEN
      place := 0;
      hash := decode(repeat('00', 32), 'hex');
    END IF;
    version := coalesce(version, 0);
    IF _again THEN
      SELECT e.position INTO _position FROM sprintlog.events e
        WHERE e.log = _log AND e.id = _id;
      IF FOUND THEN
        outcome := 'done';
        place := _position;
        RETURN;
      END IF;
    END IF;
    IF _key IS NOT NULL THEN
      SELECT e.position INTO _position FROM sprintlog.events e
        WHERE e.log = _log AND e.key = _key;
      IF FOUND THEN
        outcome := 'known';
        place := _position;
        RETURN;
      END IF;
    END IF;
    IF _lease IS NOT NULL THEN
      PERFORM FROM sprintlog.leases l
        WHERE l.log = _log AND l.name = _lease AND l.token = _token;
      IF NOT FOUND THEN
        outcome := 'fenced';
        RETURN;
      END IF;
    END IF;
    IF version NOT BETWEEN _least AND _most THEN
      outcome := 'conflict';
      RETURN;
    END IF;
    _digest := sha256(_salt || _payload);
    last := sha256(hash || sprintlog.header(
      place + 1, _stream, version + 1, _id, _type, _shape, _at, _recorded_at, _actor,
      _correlation, _causation, _key, _key_digest, _more, _observed) || _digest);
    INSERT INTO sprintlog.events VALUES (
      _log, place + 1, _stream, version + 1, _id, _type, _shape, _at, _recorded_at, _actor,
      _correlation, _causation, _key, _key_digest, _more, _observed, _salt, _payload,
      _digest, last) ON CONFLICT (log, position) DO NOTHING;
    -- Or somebody came by `append_next`, which does not queue.
    EXIT WHEN FOUND;
  END LOOP;
  FOR _i IN 1 .. _more LOOP
    _digest := sha256(_salts[_i] || _payloads[_i]);
    last := sha256(last || sprintlog.header(
      place + 1 + _i, _stream, version + 1 + _i, _ids[_i], _types[_i], _shapes[_i],
      _ats[_i], _recorded_at, _actors[_i], _correlations[_i], _causations[_i], NULL, NULL,
      _more - _i, _observations[_i]) || _digest);
    INSERT INTO sprintlog.events VALUES (
      _log, place + 1 + _i, _stream, version + 1 + _i, _ids[_i], _types[_i], _shapes[_i],
      _ats[_i], _recorded_at, _actors[_i], _correlations[_i], _causations[_i], NULL, NULL,
      _more - _i, _observations[_i], _salts[_i], _payloads[_i], _digest, last);
  END LOOP;
  outcome := 'appended';
END $$;

-- One event, as `append` records it, for writers that meet: the next one has the lock while
-- this one waits for the disk, and those who wait at the same time share one write. A commit
-- that waits for the disk has all before it there. A standby is waited for under the lock, by
-- the commit behind the call: one within it gives up at a time limit, and goes on.
-- What commits cannot have a search path of its own: all is named whole.
CREATE TYPE sprintlog.outcome AS (
  outcome text, place bigint, hash bytea, version bigint, last bytea
);
CREATE PROCEDURE sprintlog.append_shared(
  _log integer, _known bigint, _known_hash bytea, _lease text, _token bigint, _again boolean,
  _wait text, _stream text, _least bigint, _most bigint, _key text, _key_digest bytea,
  _recorded_at text, _id text, _type text, _shape integer, _at text, _actor text,
  _correlation text, _causation text, _observed boolean, _salt bytea, _payload bytea,
  OUT answer sprintlog.outcome
) LANGUAGE plpgsql AS $$
DECLARE
  _done text;
BEGIN
  -- Assigned, since a query costs.
  answer := sprintlog.append(
    _log, _known, _known_hash, _lease, _token, _again, _wait, _stream, _least, _most,
    _key, _key_digest, _recorded_at, _id, _type, _shape, _at, _actor, _correlation,
    _causation, _observed, _salt, _payload, _settles => true);
  IF answer.outcome OPERATOR(pg_catalog.<>) 'appended'
    OR pg_catalog.current_setting('synchronous_standby_names') OPERATOR(pg_catalog.<>) '' THEN
    RETURN;
  END IF;
  COMMIT;
  IF pg_catalog.current_setting('synchronous_commit')
    OPERATOR(pg_catalog.=) ANY ('{off,local}') THEN
    _done := pg_catalog.set_config('synchronous_commit', 'on', true);
  END IF;
  _done := pg_catalog.pg_logical_emit_message(true, 'sprintlog', '');
END $$;

CREATE FUNCTION sprintlog.not_of_this_chain(_position bigint) RETURNS bytea
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = _position;
END $$;

-- Events of another log, which must be the next ones: places, versions and chain.
CREATE FUNCTION sprintlog.take(
  _log integer, _positions bigint[], _streams text[], _versions bigint[], _ids text[],
  _types text[], _shapes integer[], _ats text[], _recorded text[], _actors text[],
  _correlations text[], _causations text[], _keys text[], _key_digests bytea[],
  _remaining integer[], _observed boolean[], _salts bytea[], _payloads bytea[],
  _digests bytea[], _hashes bytea[]
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _place bigint;
  _hash bytea;
  _wrong bigint;
  _count integer := cardinality(_positions);
BEGIN
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  PERFORM FROM sprintlog.logs l WHERE l.id = _log FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'there is no such log';
  END IF;
  SELECT e.position, e.hash INTO _place, _hash
    FROM sprintlog.events e WHERE e.log = _log ORDER BY e.position DESC LIMIT 1;
  IF NOT FOUND THEN
    _place := 0;
    _hash := decode(repeat('00', 32), 'hex');
  END IF;
  WITH given AS (
    SELECT n, g.position, g.stream, g.version,
      row_number() OVER (PARTITION BY g.stream ORDER BY n) AS ordinal
    FROM unnest(_positions, _streams, _versions) WITH ORDINALITY
      AS g(position, stream, version, n)
  ), before AS MATERIALIZED (
    SELECT s.stream, (
      SELECT coalesce(max(e.version), 0) FROM sprintlog.events e
      WHERE e.log = _log AND e.stream = s.stream COLLATE "C") AS version
    FROM (SELECT DISTINCT stream FROM given) s
  )
  SELECT min(g.position) INTO _wrong FROM given g JOIN before b USING (stream)
    WHERE g.position IS DISTINCT FROM _place + g.n
    OR g.version IS DISTINCT FROM b.version + g.ordinal;
  IF _wrong IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = _wrong;
  END IF;
  -- Looked at while they are stored: so each is unfolded once.
  INSERT INTO sprintlog.events SELECT
      _log, g.position, g.stream, g.version, g.id, g.type, g.shape, g.at, g.recorded_at,
      g.actor, g.correlation_id, g.causation_id, g.key, g.key_digest, g.remaining,
      g.observed, g.salt, g.payload, g.payload_digest,
      CASE WHEN g.hash = sha256(g.previous || sprintlog.header(
          g.position, g.stream, g.version, g.id, g.type, g.shape, g.at, g.recorded_at,
          g.actor, g.correlation_id, g.causation_id, g.key, g.key_digest, g.remaining,
          g.observed) || g.payload_digest)
        AND (g.payload IS NULL OR g.salt IS NULL
          OR sha256(g.salt || g.payload) = g.payload_digest)
        THEN g.hash ELSE sprintlog.not_of_this_chain(g.position) END
    FROM unnest(
      _positions, _streams, _versions, _ids, _types, _shapes, _ats, _recorded, _actors,
      _correlations, _causations, _keys, _key_digests, _remaining, _observed, _salts,
      _payloads, _digests, _hashes, _hash || _hashes[:_count - 1]
    ) AS g(
      position, stream, version, id, type, shape, at, recorded_at, actor, correlation_id,
      causation_id, key, key_digest, remaining, observed, salt, payload, payload_digest,
      hash, previous);
  RETURN NULL;
EXCEPTION
  WHEN integrity_constraint_violation THEN
    RETURN 'events are only appended: position ' || SQLERRM
      || ' is not the next, or not of this chain';
  WHEN unique_violation THEN
    RETURN 'events are only appended: position, version, id or key is taken';
END $$;

-- Take payload and salt out of events, and append the one event that says so: both, or
-- neither. `outcome` is `nothing` where each of them was erased before.
CREATE FUNCTION sprintlog.erase(
  _log integer, _known bigint, _known_hash bytea, _again boolean, _wait text,
  _streams text[], _firsts bigint[], _lasts bigint[], _kinds text[],
  _remainders bytea[], _stream text, _recorded_at text, _id text, _type text, _shape integer, _at text,
  _actor text, _correlation text, _causation text, _observed boolean, _salt bytea,
  _payload bytea,
  OUT outcome text, OUT place bigint, OUT hash bytea, OUT version bigint, OUT last bytea
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _erased bigint;
BEGIN
  PERFORM set_config('lock_timeout', _wait, true);
  PERFORM FROM sprintlog.logs l WHERE l.id = _log FOR NO KEY UPDATE;
  PERFORM set_config('sprintlog.erasing', 'on', true);
  UPDATE sprintlog.events e SET salt = NULL,
    payload = _remainders[(s.begin + e.version - s.first)::integer]
    FROM (
      SELECT u.*, 1 + coalesce(sum(u.last - u.first + 1) OVER (
        ORDER BY u.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint AS begin
      FROM unnest(_streams, _firsts, _lasts, _kinds)
        WITH ORDINALITY AS u(stream, first, last, kind, n)
    ) s
    WHERE e.log = _log AND e.salt IS NOT NULL AND e.stream = s.stream COLLATE "C"
    AND e.version BETWEEN s.first AND s.last AND (s.kind IS NULL OR e.type = s.kind);
  GET DIAGNOSTICS _erased = ROW_COUNT;
  PERFORM set_config('sprintlog.erasing', 'off', true);
  IF _erased = 0 AND NOT _again THEN
    outcome := 'nothing';
    RETURN;
  END IF;
  SELECT a.* INTO outcome, place, hash, version, last FROM sprintlog.append(
    _log, _known, _known_hash, NULL, 0, _again, _wait, _stream, 0, 9223372036854775807,
    NULL, NULL, _recorded_at, _id, _type, _shape, _at, _actor, _correlation, _causation,
    _observed, _salt, _payload) a;
  IF outcome NOT IN ('appended', 'done') THEN
    RAISE EXCEPTION 'the erasure cannot be recorded: %', outcome;
  END IF;
END $$;

CREATE FUNCTION sprintlog.create_log(_name text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _id integer;
BEGIN
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  LOCK TABLE sprintlog.logs IN SHARE ROW EXCLUSIVE MODE;
  -- By chance: after a failover that lost a log nobody else's has its number, under which
  -- its writers may still append.
  LOOP
    _id := 1 + floor(random() * 2147483646)::integer;
    EXIT WHEN NOT EXISTS (SELECT FROM sprintlog.logs l WHERE l.id = _id);
  END LOOP;
  INSERT INTO sprintlog.logs (id, name, identity) VALUES (_id, _name, gen_random_uuid()::text)
    ON CONFLICT (name) DO NOTHING RETURNING id INTO _id;
  RETURN _id;
END $$;

-- Leases: one worker for a name across hosts, by the server's clock alone. The token of a
-- lease grows with every holder, and an append that names an older one is refused. It holds
-- the time, so that none is given twice, whatever a crash or a failover lost.
CREATE FUNCTION sprintlog.take_lease(
  _log integer, _name text, _holder text, _host text, _seconds double precision,
  OUT granted boolean, OUT token bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  _lease sprintlog.leases;
  _now timestamptz;
BEGIN
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  INSERT INTO sprintlog.leases (log, name, token) VALUES (_log, _name, 0)
    ON CONFLICT (log, name) DO NOTHING;
  SELECT * INTO _lease FROM sprintlog.leases l
    WHERE l.log = _log AND l.name = _name FOR UPDATE;
  _now := clock_timestamp();
  granted := _lease.holder IS NULL OR _lease.holder = _holder OR _lease.expires <= _now;
  token := _lease.token;
  IF granted THEN
    -- No append that was let in by the old token is under way any more. The row is written,
    -- so that one whose snapshot is older fails, at any level of isolation.
    UPDATE sprintlog.logs l SET name = l.name WHERE l.id = _log;
    token := greatest(_lease.token + 1, (extract(epoch FROM _now) * 1000000)::bigint);
    UPDATE sprintlog.leases l SET token = take_lease.token, holder = _holder,
      host = _host, since = _now, heartbeat = _now,
      expires = _now + make_interval(secs => _seconds)
      WHERE l.log = _log AND l.name = _name;
  END IF;
END $$;
CREATE FUNCTION sprintlog.beat_lease(
  _log integer, _name text, _token bigint, _seconds double precision
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE sprintlog.leases l SET heartbeat = clock_timestamp(),
    expires = clock_timestamp() + make_interval(secs => _seconds)
    WHERE l.log = _log AND l.name = _name AND l.token = _token AND l.holder IS NOT NULL;
  RETURN FOUND;
END $$;
CREATE FUNCTION sprintlog.release_lease(_log integer, _name text, _token bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE sprintlog.leases SET holder = NULL, host = NULL, expires = NULL
    WHERE log = _log AND name = _name AND token = _token
$$;

-- For people who ask in SQL.
CREATE FUNCTION sprintlog.as_json(_payload bytea) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN convert_from(_payload, 'UTF8')::jsonb;
EXCEPTION WHEN OTHERS THEN
  -- What JSON may hold and jsonb may not, such as \u0000: the text has it.
  RETURN NULL;
END $$;
CREATE VIEW sprintlog.v_logs AS
  SELECT l.name, coalesce(e.position, 0) AS events,
    coalesce(e.hash, decode(repeat('00', 32), 'hex')) AS hash
  FROM sprintlog.logs l LEFT JOIN LATERAL (
    SELECT position, hash FROM sprintlog.events WHERE log = l.id
    ORDER BY position DESC LIMIT 1) e ON true;
CREATE VIEW sprintlog.v_events AS
  SELECT l.name AS log, e.position, e.stream, e.version, e.id, e.type, e.schema_version,
    e.at::timestamptz AS at, e.recorded_at::timestamptz AS recorded_at, e.actor,
    e.correlation_id, e.causation_id, e.key, e.observed,
    sprintlog.as_json(e.payload) AS data, convert_from(e.payload, 'UTF8') AS text
  FROM sprintlog.events e JOIN sprintlog.logs l ON l.id = e.log;
CREATE VIEW sprintlog.v_streams AS
  SELECT l.name AS log, e.stream, max(e.version) AS version, min(e.at::timestamptz) AS since,
    max(e.at::timestamptz) AS until
  FROM sprintlog.events e JOIN sprintlog.logs l ON l.id = e.log GROUP BY l.name, e.stream;
CREATE VIEW sprintlog.v_leases AS
  SELECT l.name AS log, s.name, s.host, s.holder, s.since, s.heartbeat, s.expires
  FROM sprintlog.leases s JOIN sprintlog.logs l ON l.id = s.log WHERE s.holder IS NOT NULL;

REVOKE ALL ON ALL ROUTINES IN SCHEMA sprintlog FROM PUBLIC;

-- Who writes may call what is above, and read; who reads may read. Where this role may not
-- make roles, its owner grants the same to others.
DO $$
DECLARE
  _role text;
BEGIN
  FOREACH _role IN ARRAY ARRAY['sprintlog_writer', 'sprintlog_reader'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', _role);
    EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
      -- It is there, or somebody else makes it.
      NULL;
    END;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = _role) THEN
      EXECUTE format('GRANT USAGE ON SCHEMA sprintlog TO %I', _role);
      EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA sprintlog TO %I', _role);
      EXECUTE format('GRANT EXECUTE ON FUNCTION sprintlog.as_json, '
        'sprintlog.is_settled TO %I', _role);
      IF _role = 'sprintlog_writer' THEN
        EXECUTE format('GRANT EXECUTE ON FUNCTION sprintlog.append, sprintlog.append_next, '
          'sprintlog.take, sprintlog.erase, sprintlog.create_log, sprintlog.take_lease, '
          'sprintlog.beat_lease, sprintlog.release_lease TO %I', _role);
        EXECUTE format('GRANT EXECUTE ON PROCEDURE sprintlog.append_shared TO %I', _role);
      END IF;
    END IF;
  END LOOP;
END $$;
