"""The errors that Rearview raises.

RearviewError
├── ConfigError      the user's configuration can't be used
├── PeerError        a client or a server broke the protocol or went away; may be answered over the wire
└── StoreError       the state folder, the journal, the ledger or the lessons can't be used
"""


class RearviewError(Exception):
    """Says what happened, where, and what to do next; a command prints it as one line."""


class ConfigError(RearviewError):
    """The configuration can't be used."""


class PeerError(RearviewError):
    """A client or a server is at fault."""


class StoreError(RearviewError):
    """Something under the state folder can't be used."""
