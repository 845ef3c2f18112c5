"""Brings the tables of a ledger to the present version, one numbered step after the other.

A step that was released is never changed; a new need is a new step at the end. A step only adds: a command of a newer
version may take it while an older learner is still at work.
"""

from typing import TYPE_CHECKING

from rearview.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection

_FIRST = (
    """CREATE TABLE relays (
        id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, client TEXT NOT NULL, server TEXT NOT NULL,
        server_version TEXT NOT NULL DEFAULT '', client_name TEXT NOT NULL DEFAULT '',
        client_version TEXT NOT NULL DEFAULT '', modern INTEGER NOT NULL DEFAULT 0 CHECK (modern IN (0, 1)),
        env TEXT NOT NULL DEFAULT '[]', pid INTEGER NOT NULL DEFAULT 0, started REAL NOT NULL, last_sign REAL NOT NULL,
        ended_at REAL, dropped INTEGER NOT NULL DEFAULT 0, restarts INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE files (
        name TEXT NOT NULL PRIMARY KEY, relay TEXT NOT NULL DEFAULT '',
        offset INTEGER NOT NULL CHECK (typeof(offset) = 'integer' AND offset >= 0),
        unreadable INTEGER NOT NULL DEFAULT 0 CHECK (unreadable >= 0))""",
    """CREATE TABLE trajectories (
        trace_id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, client TEXT NOT NULL, root TEXT NOT NULL,
        env TEXT NOT NULL DEFAULT '[]', created_at REAL NOT NULL, ended_at REAL NOT NULL,
        calls INTEGER NOT NULL CHECK (calls > 0), failed INTEGER NOT NULL CHECK (failed BETWEEN 0 AND calls),
        state TEXT NOT NULL CHECK (state IN ('learned', 'failed')), error TEXT NOT NULL DEFAULT '',
        learned_at REAL NOT NULL)""",
    "CREATE INDEX trajectories_by_client ON trajectories (owner, client, ended_at)",
    "CREATE INDEX trajectories_by_root ON trajectories (owner, root)",
    """CREATE TABLE records (
        relay TEXT NOT NULL REFERENCES relays (id), seq INTEGER NOT NULL CHECK (typeof(seq) = 'integer' AND seq > 0),
        at REAL NOT NULL CHECK (typeof(at) = 'real'), ms REAL NOT NULL CHECK (typeof(ms) = 'real'),
        owner TEXT NOT NULL, client TEXT NOT NULL, server TEXT NOT NULL, server_version TEXT NOT NULL,
        tool TEXT NOT NULL, arguments TEXT NOT NULL, digest TEXT NOT NULL,
        grade TEXT NOT NULL CHECK (grade IN ('ok', 'soft', 'flagged', 'hard', 'unknown')),
        kind TEXT, result TEXT NOT NULL, task_ref TEXT NOT NULL, client_name TEXT NOT NULL, env TEXT NOT NULL,
        channel TEXT, lesson TEXT, trace_id TEXT REFERENCES trajectories (trace_id),
        PRIMARY KEY (relay, seq))""",
    "CREATE INDEX records_by_time ON records (owner, at)",
    "CREATE INDEX records_of_trajectory ON records (trace_id)",
    "CREATE INDEX records_to_learn ON records (relay, seq) WHERE trace_id IS NULL",
    """CREATE TABLE steps (
        trace_id TEXT NOT NULL REFERENCES trajectories (trace_id) ON DELETE CASCADE, step_index INTEGER NOT NULL,
        owner TEXT NOT NULL, relay TEXT NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (trace_id, step_index), UNIQUE (relay, seq),
        FOREIGN KEY (relay, seq) REFERENCES records (relay, seq) ON DELETE CASCADE)""",
    """CREATE TABLE tools (
        owner TEXT NOT NULL, server TEXT NOT NULL, server_version TEXT NOT NULL, tool TEXT NOT NULL,
        input_schema TEXT NOT NULL, output_schema INTEGER NOT NULL CHECK (output_schema IN (0, 1)),
        read_only INTEGER NOT NULL CHECK (read_only IN (0, 1)), seen_at REAL NOT NULL,
        PRIMARY KEY (owner, server, server_version, tool))""",
    """CREATE TABLE evidence (
        owner TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, env TEXT NOT NULL, key TEXT NOT NULL,
        last_seen REAL NOT NULL, body TEXT NOT NULL, PRIMARY KEY (owner, server, tool, env, key))""",
    "CREATE INDEX evidence_by_age ON evidence (owner, last_seen)",
    """CREATE TABLE fixes (
        owner TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, env TEXT NOT NULL, key TEXT NOT NULL,
        last_seen REAL NOT NULL, body TEXT NOT NULL, PRIMARY KEY (owner, server, tool, env, key))""",
    """CREATE TABLE reliability (
        owner TEXT NOT NULL, bucket TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (owner, bucket))""",
    """CREATE TABLE said (
        relay TEXT NOT NULL, seq INTEGER NOT NULL, owner TEXT NOT NULL, at REAL NOT NULL, server TEXT NOT NULL,
        tool TEXT NOT NULL, channel TEXT NOT NULL, lesson TEXT NOT NULL, trace_id TEXT NOT NULL,
        changed INTEGER CHECK (changed IN (0, 1)), succeeded INTEGER CHECK (succeeded IN (0, 1)),
        PRIMARY KEY (relay, seq))""",
    "CREATE INDEX said_by_lesson ON said (owner, lesson)",
    """CREATE TABLE lessons (
        owner TEXT NOT NULL, id TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, env TEXT NOT NULL,
        key TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('active', 'muted', 'gone', 'forgotten')),
        origin TEXT NOT NULL DEFAULT '', body TEXT NOT NULL, born_at REAL NOT NULL, changed_at REAL NOT NULL,
        PRIMARY KEY (owner, id))""",
    """CREATE TABLE counters (
        owner TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (owner, name))""",
)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""Step n, counted from 1, leads from version n - 1 to version n."""


def migrate(connection: "Connection", where: str) -> None:
    """Run the steps that this ledger lacks; the caller's transaction makes them all or nothing.

    Raises:
        StoreError: a newer Rearview has written this ledger.
    """
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    found = connection.exec_driver_sql("SELECT max(version) FROM schema_version").scalar() or 0
    if found > len(STEPS):
        message = (
            f"{where} was written by a newer mcp-rearview (ledger version {found}, this one knows {len(STEPS)}): "
            "update mcp-rearview, or name another folder with REARVIEW_STATE_DIR"
        )
        raise StoreError(message)
    for version, step in enumerate(STEPS[found:], start=found + 1):
        for statement in step:
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql("DELETE FROM schema_version")
        connection.exec_driver_sql("INSERT INTO schema_version (version) VALUES (?)", (version,))
