"""BLAKE2 without OpenSSL, which `hashlib` loads: 4 MB and 3 ms for every relay."""

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
