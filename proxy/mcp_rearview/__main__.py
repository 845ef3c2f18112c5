"""`python -m mcp_rearview`."""

import sys

from mcp_rearview import main

sys.exit(main())
