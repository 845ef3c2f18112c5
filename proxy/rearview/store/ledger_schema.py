"""The tables of the ledger as queries see them; `migrations` makes them, and a test compares the two.

Every table that holds what somebody did has an `owner`, and every query whose answer a person sees filters by it.
Nested values are JSON text.
"""

from sqlalchemy import Column, Float, Integer, MetaData, Table, Text

metadata = MetaData()


def _table(name: str, *columns: Column[int] | Column[float] | Column[str] | Column[str | None]) -> Table:
    return Table(name, metadata, *columns)


relays = _table(
    "relays",
    Column("id", Text, primary_key=True),
    Column("owner", Text),
    Column("client", Text),
    Column("server", Text),
    Column("server_version", Text),
    Column("client_name", Text),
    Column("client_version", Text),
    Column("modern", Integer),
    Column("env", Text),
    Column("pid", Integer),
    Column("started", Float),
    Column("last_sign", Float),
    Column("ended_at", Float),
    Column("dropped", Integer),
    Column("restarts", Integer),
)

files = _table(
    "files",
    Column("name", Text, primary_key=True),
    Column("relay", Text),
    Column("offset", Integer),
    Column("unreadable", Integer),
)

records = _table(
    "records",
    Column("relay", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", Float),
    Column("ms", Float),
    Column("owner", Text),
    Column("client", Text),
    Column("server", Text),
    Column("server_version", Text),
    Column("tool", Text),
    Column("arguments", Text),
    Column("digest", Text),
    Column("grade", Text),
    Column("kind", Text),
    Column("result", Text),
    Column("task_ref", Text),
    Column("client_name", Text),
    Column("env", Text),
    Column("channel", Text),
    Column("lesson", Text),
    Column("trace_id", Text),
)

tools = _table(
    "tools",
    Column("owner", Text, primary_key=True),
    Column("server", Text, primary_key=True),
    Column("server_version", Text, primary_key=True),
    Column("tool", Text, primary_key=True),
    Column("input_schema", Text),
    Column("output_schema", Integer),
    Column("read_only", Integer),
    Column("seen_at", Float),
)

trajectories = _table(
    "trajectories",
    Column("trace_id", Text, primary_key=True),
    Column("owner", Text),
    Column("client", Text),
    Column("root", Text),
    Column("env", Text),
    Column("created_at", Float),
    Column("ended_at", Float),
    Column("calls", Integer),
    Column("failed", Integer),
    Column("state", Text),
    Column("error", Text),
    Column("learned_at", Float),
)

steps = _table(
    "steps",
    Column("trace_id", Text, primary_key=True),
    Column("step_index", Integer, primary_key=True),
    Column("owner", Text),
    Column("relay", Text),
    Column("seq", Integer),
)

evidence = _table(
    "evidence",
    Column("owner", Text, primary_key=True),
    Column("server", Text, primary_key=True),
    Column("tool", Text, primary_key=True),
    Column("env", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("last_seen", Float),
    Column("body", Text),
)

fixes = _table(
    "fixes",
    Column("owner", Text, primary_key=True),
    Column("server", Text, primary_key=True),
    Column("tool", Text, primary_key=True),
    Column("env", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("last_seen", Float),
    Column("body", Text),
)

reliability = _table(
    "reliability",
    Column("owner", Text, primary_key=True),
    Column("bucket", Text, primary_key=True),
    Column("body", Text),
)

said = _table(
    "said",
    Column("relay", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("owner", Text),
    Column("at", Float),
    Column("server", Text),
    Column("tool", Text),
    Column("channel", Text),
    Column("lesson", Text),
    Column("trace_id", Text),
    Column("changed", Integer),
    Column("succeeded", Integer),
)

lessons = _table(
    "lessons",
    Column("owner", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("server", Text),
    Column("tool", Text),
    Column("env", Text),
    Column("key", Text),
    Column("state", Text),
    Column("origin", Text),
    Column("body", Text),
    Column("born_at", Float),
    Column("changed_at", Float),
)

counters = _table(
    "counters",
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Integer),
)
