"""Asks the relay in this container whether it is well; the exit code is the answer. With the standard library only.

    healthcheck.py [PATH]     /healthz if there is none; REARVIEW_HEALTH_PORT is the port, 8080 if it is not set

A plain connection and no opener, because HTTP_PROXY in the environment must not send this question elsewhere.
"""

import http.client
import os
import sys

TIMEOUT_SECONDS = 3.0


def main(path: str) -> str | None:
    """Return what is wrong, nothing if all is well."""
    port = os.environ.get("REARVIEW_HEALTH_PORT") or "8080"
    try:
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=TIMEOUT_SECONDS)
        connection.request("GET", path)
        status = connection.getresponse().status
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"no answer at port {port}: {error}"
    return None if status == http.client.OK else f"{path} answered {status}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "/healthz"))
