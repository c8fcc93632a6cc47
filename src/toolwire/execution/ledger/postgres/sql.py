"""The SQL of the PostgreSQL ledger: its tables, and one statement per operation.

Every time is the database's own `clock_timestamp()`; no statement has one as a parameter. Ids and
tokens are bytea: text cannot hold NUL and lone surrogates, and bytes sort the same way everywhere.
"""

from __future__ import annotations

VERSION = 1
CREATE_LOCK = 7_817_402_311
"""The advisory lock of a replica that creates the tables."""
CHANNEL = "toolwire_ended"

_KEY = "tenant bytea NOT NULL, call_id bytea NOT NULL"
TABLES = f"""
CREATE TABLE IF NOT EXISTS {{s}}.tw_meta(name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE IF NOT EXISTS {{s}}.tw_owner(
  owner uuid PRIMARY KEY, lease_until timestamptz NOT NULL, lease interval NOT NULL,
  since timestamptz NOT NULL, -- start of the lease if it had once run out; else -infinity
  info text NOT NULL);
CREATE TABLE IF NOT EXISTS {{s}}.tw_call(
  {_KEY}, tool bytea NOT NULL, fp bytea NOT NULL,
  state text NOT NULL CHECK (state IN ('running', 'done', 'failed', 'lost', 'gone', 'free')), -- free: released
  attempt int NOT NULL, owner uuid NOT NULL, token bytea NOT NULL, on_crash text NOT NULL,
  waiters boolean NOT NULL DEFAULT false,
  born bigint, -- milliseconds, of an id that says when it was made
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(), ended_at timestamptz, expires_at timestamptz,
  outcome bytea,
  PRIMARY KEY (tenant, call_id)) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS tw_call_running ON {{s}}.tw_call(owner) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS tw_call_expiry ON {{s}}.tw_call(expires_at) WHERE expires_at IS NOT NULL;
"""
WRITE_META = "INSERT INTO {s}.tw_meta VALUES (%s, %b) ON CONFLICT DO NOTHING"
TABLE_EXISTS = "SELECT to_regclass(%s) IS NOT NULL"
READ_META = "SELECT name, value FROM {s}.tw_meta"
DURABLE = "SELECT current_setting('synchronous_commit')"

_NOW = "clock_timestamp()"
_TRUSTED = "to_timestamp(%(trusted)s::bigint / 1000.0)"
_MS = "(extract(epoch FROM {0}) * 1000)::bigint"
_SAME = "c.tenant = k.tenant AND c.call_id = k.call_id"
_ALIVE = f"EXISTS (SELECT FROM {{s}}.tw_owner WHERE owner = %(me)s AND lease_until > {_NOW})"
_NOT_TOO_OLD = f"(k.born IS NULL OR k.born >= {_MS.format(_NOW)} - %(horizon)s)"
_BORN = f"CASE WHEN k.born <= {_MS.format(_NOW)} + %(tolerance)s THEN k.born END"
# A replica that has just reconnected, or a database that has just restarted, declares no owner dead:
# after an outage every lease has ended, and the other replicas need the time of a lease to renew.
_DEAD = f"""(NOT EXISTS (SELECT FROM {{s}}.tw_owner o WHERE o.owner = c.owner AND o.lease_until > {_NOW})
  AND EXISTS (SELECT FROM {{s}}.tw_owner m WHERE m.owner = %(me)s AND m.lease_until > {_NOW}
    AND {_NOW} - coalesce((SELECT o.lease FROM {{s}}.tw_owner o WHERE o.owner = c.owner), m.lease)
      >= greatest(m.since, pg_postmaster_start_time())))"""
_RERUN = "c.on_crash IN ('retry', 'transactional')"

# --- claim ----------------------------------------------------------------------------------------
_CLAIM = f"""INSERT INTO {{s}}.tw_call(tenant, call_id, tool, fp, token, on_crash, born, state, attempt, owner)
SELECT k.tenant, k.call_id, k.tool, k.fp, k.token, k.on_crash, {_BORN}, 'running', 1, %(me)s FROM {{rows}}
WHERE {_ALIVE} AND {_NOT_TOO_OLD} ON CONFLICT DO NOTHING
RETURNING tenant, call_id, token, {_MS.format("started_at")} AS ms"""
_ONE_CLAIM = """(SELECT %(c_tenant)b::bytea AS tenant, %(c_call_id)b::bytea AS call_id, %(c_tool)b::bytea AS tool,
  %(c_fp)b::bytea AS fp, %(c_token)b::bytea AS token, %(c_on_crash)s::text AS on_crash, %(c_born)s::bigint AS born) k"""
_MANY_CLAIMS = """unnest(%(c_tenant)b, %(c_call_id)b, %(c_tool)b, %(c_fp)b, %(c_token)b, %(c_on_crash)b, %(c_born)b)
  AS k(tenant, call_id, tool, fp, token, on_crash, born)"""

# --- finish and release ---------------------------------------------------------------------------
# `waiters` is that of the newest version of the row, with every flag that was set before this update
# locked the row.
_END = f"""UPDATE {{s}}.tw_call c SET state = k.state, outcome = k.outcome, token = k.token, ended_at = {_NOW},
  fp = CASE k.state WHEN 'free' THEN ''::bytea ELSE c.fp END,
  expires_at = {_NOW} + CASE k.state WHEN 'free' THEN %(tombstone)s ELSE %(kept)s END
FROM {{rows}} WHERE {_SAME} AND c.attempt = k.attempt
  AND CASE WHEN k.probed = 0 THEN c.token = k.token AND c.state IN ('running', 'lost') ELSE c.state = 'lost' END
RETURNING k.i, c.waiters"""
_ONE_END = """(SELECT %(e_tenant)b::bytea AS tenant, %(e_call_id)b::bytea AS call_id, %(e_token)b::bytea AS token,
  %(e_state)s::text AS state, %(e_outcome)b::bytea AS outcome, %(e_attempt)s::int AS attempt,
  %(e_probed)s::int AS probed, 1::bigint AS i) k"""
_MANY_ENDS = """unnest(%(e_tenant)b, %(e_call_id)b, %(e_token)b, %(e_state)b, %(e_outcome)b, %(e_attempt)b, %(e_probed)b)
  WITH ORDINALITY AS k(tenant, call_id, token, state, outcome, attempt, probed, i)"""

CLAIM = _CLAIM.replace("{rows}", _ONE_CLAIM)
CLAIMS = _CLAIM.replace("{rows}", _MANY_CLAIMS)
END = _END.replace("{rows}", _ONE_END)
ENDS = _END.replace("{rows}", _MANY_ENDS)
# The inserts come before the updates: a statement that waits for an update holds no key that the
# insert of another statement waits for.
BOTH = f"""WITH claimed AS ({CLAIMS}), ended AS ({ENDS})
SELECT tenant, call_id, token, ms, NULL::bigint, NULL::boolean FROM claimed
UNION ALL SELECT NULL, NULL, NULL, NULL, i, waiters FROM ended"""

# --- read and take over ---------------------------------------------------------------------------
_KEYS = "unnest(%(tenant)b, %(call_id)b) WITH ORDINALITY AS k(tenant, call_id, i)"
READ = f"""SELECT k.i, c.state, c.attempt, c.token, c.fp, c.tool, {_MS.format("c.started_at")}, {_MS.format("c.ended_at")},
  c.outcome, c.waiters, c.expires_at <= {_NOW}, {_RERUN}, c.state = 'running' AND {_DEAD}, {_ALIVE}, {_MS.format(_NOW)},
  c.on_crash = 'resume'
FROM {_KEYS} LEFT JOIN {{s}}.tw_call c ON {_SAME}"""
TAKE_OVER = f"""UPDATE {{s}}.tw_call c SET state = 'running', attempt = c.attempt + 1, owner = %(me)s, token = %(token)b, fp = %(fp)b,
  tool = %(tool)b, on_crash = %(on_crash)s, started_at = {_NOW}, ended_at = NULL, expires_at = NULL, outcome = NULL
WHERE c.tenant = %(tenant)b AND c.call_id = %(call_id)b AND c.attempt = %(attempt)s AND {_ALIVE}
  AND (c.state = 'free' OR c.state = 'running' AND c.fp = %(fp)b AND {_RERUN} AND {_DEAD})
RETURNING attempt, {_MS.format("started_at")}"""
MARK_LOST = f"""UPDATE {{s}}.tw_call c SET state = 'lost', ended_at = {_NOW}, expires_at = {_NOW} + %(kept)s
WHERE c.tenant = %(tenant)b AND c.call_id = %(call_id)b AND c.state = 'running' AND NOT {_RERUN} AND {_DEAD}
RETURNING c.waiters"""
# Undoes a claim that may or may not have been executed, and prevents its later execution.
UNDO_CLAIM = f"""INSERT INTO {{s}}.tw_call AS c
  (tenant, call_id, tool, fp, token, on_crash, state, attempt, owner, ended_at, expires_at)
VALUES (%(tenant)b, %(call_id)b, %(tool)b, %(fp)b, %(token)b, %(on_crash)s, 'free', 0, %(me)s, {_NOW}, {_NOW} + %(tombstone)s)
ON CONFLICT (tenant, call_id) DO UPDATE SET state = 'free', ended_at = {_NOW}, expires_at = {_NOW} + %(tombstone)s
WHERE c.state IN ('running', 'lost') AND c.token = %(token)b RETURNING c.waiters"""
# Never waits for a lock, so it causes no deadlock. A locked row is skipped, read as not flagged, and
# flagged later.
FLAG = f"""WITH found AS MATERIALIZED (SELECT c.tenant, c.call_id FROM {_KEYS} JOIN {{s}}.tw_call c ON {_SAME}
  WHERE c.state = 'running' AND NOT c.waiters FOR UPDATE OF c SKIP LOCKED)
UPDATE {{s}}.tw_call c SET waiters = true FROM found k WHERE {_SAME} AND c.state = 'running'"""
NOTIFY = f"SELECT pg_notify('{CHANNEL}', name) FROM unnest(%(names)b) AS name"
LISTEN = f"LISTEN {CHANNEL}"
# Sent in one message with COMMIT: for a call that was taken over, it divides by zero, and the COMMIT
# rolls back.
END_OR_FAIL = f"""WITH ended AS ({END})
SELECT 1 / count(*)::int, CASE WHEN bool_or(waiters) THEN pg_notify('{CHANNEL}', %(name)s) END FROM ended"""

# --- leases and age -------------------------------------------------------------------------------
RENEW = f"""INSERT INTO {{s}}.tw_owner AS o VALUES (%(me)s, {_NOW} + %(lease)s, %(lease)s,
  CASE WHEN %(first)s THEN '-infinity'::timestamptz ELSE {_NOW} END, %(info)s)
ON CONFLICT (owner) DO UPDATE SET lease_until = {_NOW} + %(lease)s,
  since = CASE WHEN o.lease_until > {_NOW} THEN o.since ELSE {_NOW} END
RETURNING {_MS.format(_NOW)}"""
# The lease has no length: a replica that has left is dead at once.
RESIGN = (
    f"UPDATE {{s}}.tw_owner SET lease_until = {_NOW}, lease = interval '0' WHERE owner = %(me)s"
)
_CHUNK = 500
_OLD = f"""WITH k AS MATERIALIZED (SELECT c.tenant, c.call_id FROM {{s}}.tw_call c WHERE {{which}}
  LIMIT {_CHUNK} FOR UPDATE OF c SKIP LOCKED)"""
_UNCLAIMED = (
    "coalesce((SELECT o.lease_until FROM {s}.tw_owner o WHERE o.owner = c.owner), c.started_at)"
    f" < {_NOW} - %(kept)s"
)
SWEEP_DEAD = f"""{_OLD.replace("{which}", f"c.state = 'running' AND {_DEAD} AND (NOT {_RERUN} OR {_UNCLAIMED})")}
UPDATE {{s}}.tw_call c SET state = 'lost', ended_at = {_NOW}, expires_at = {_NOW} + %(kept)s
FROM k WHERE {_SAME} AND c.state = 'running' RETURNING c.tenant, c.call_id, c.waiters"""
SWEEP_EXPIRED = f"""{_OLD.replace("{which}", f"c.expires_at <= {_NOW} AND c.state IN ('done', 'failed', 'lost')")}
UPDATE {{s}}.tw_call c SET state = 'gone', outcome = NULL, expires_at = coalesce(c.ended_at, {_NOW}) + %(tombstone)s
FROM k WHERE {_SAME} AND c.state IN ('done', 'failed', 'lost') AND c.expires_at <= {_NOW} RETURNING c.tenant"""
# A UUIDv7 stays until it is rejected as too old.
_FORGETTABLE = f"""c.expires_at <= {_TRUSTED} AND c.state IN ('gone', 'free')
  AND (c.born IS NULL OR c.born < {_MS.format(_NOW)} - %(horizon)s)"""
SWEEP_FORGOTTEN = f"""{_OLD.replace("{which}", _FORGETTABLE)}
DELETE FROM {{s}}.tw_call c USING k WHERE {_SAME} AND {_FORGETTABLE} RETURNING c.tenant"""
READ_CLOCK = (
    f"""SELECT {_MS.format(_NOW)}, (SELECT value FROM {{s}}.tw_meta WHERE name = 'clock')"""
)
NEWEST = f"SELECT {_MS.format('max(started_at)')} FROM {{s}}.tw_call"
WRITE_CLOCK = """INSERT INTO {s}.tw_meta VALUES ('clock', %(clock)b)
ON CONFLICT (name) DO UPDATE SET value = excluded.value"""
SWEEP_OWNERS = f"""DELETE FROM {{s}}.tw_owner o WHERE o.lease_until < {_NOW} - interval '1 day' - o.lease
  AND NOT EXISTS (SELECT FROM {{s}}.tw_call c WHERE c.owner = o.owner AND c.state = 'running')"""


class Statements:
    """The statements for the tables of one schema."""

    def __init__(self, schema: str) -> None:
        quoted = '"' + schema.replace('"', '""') + '"'
        self.schema = quoted.replace("%", "%%")

        def text(query: str) -> bytes:
            return query.replace("{s}", self.schema).encode()

        self.create = [
            text(part)
            for part in ["CREATE SCHEMA IF NOT EXISTS {s}", *TABLES.strip().split(";\n")]
            if part
        ]
        self.write_meta, self.read_meta, self.table_exists, self.durable = (
            text(WRITE_META),
            text(READ_META),
            text(TABLE_EXISTS),
            text(DURABLE),
        )
        self.tw_meta = f"{quoted}.tw_meta"
        self.claim, self.claims, self.end, self.ends, self.both = (
            text(CLAIM),
            text(CLAIMS),
            text(END),
            text(ENDS),
            text(BOTH),
        )
        self.read, self.take_over, self.mark_lost, self.undo_claim, self.flag = (
            text(READ),
            text(TAKE_OVER),
            text(MARK_LOST),
            text(UNDO_CLAIM),
            text(FLAG),
        )
        self.notify, self.listen, self.end_or_fail = text(NOTIFY), text(LISTEN), text(END_OR_FAIL)
        self.renew, self.resign = text(RENEW), text(RESIGN)
        self.dead, self.expired, self.forgotten = (
            text(SWEEP_DEAD),
            text(SWEEP_EXPIRED),
            text(SWEEP_FORGOTTEN),
        )
        self.owners = text(SWEEP_OWNERS)
        self.read_clock, self.newest, self.write_clock = (
            text(READ_CLOCK),
            text(NEWEST),
            text(WRITE_CLOCK),
        )
        self.chunk = _CHUNK
