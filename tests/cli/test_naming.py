"""What a server is called that nobody gave a name."""

import pytest

from rearview.cli.naming import server_name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem /data", "server-filesystem"),
        ("uvx mcp-server-git@1.2 --repository /r", "mcp-server-git"),
        ("python3.12 -m my_server", "my_server"),
        ("/usr/bin/node /srv/index.js", "index"),
        ("docker run -i --rm -v /a:/b mcp/postgres:17 postgresql://host/db", "postgres"),
        ("docker run -itv /a:/b ghcr.io/github/github-mcp-server", "github-mcp-server"),
        ("docker run -v/a:/b -p 1:2 -e API_KEY=secret --env TOKEN image stdio", "image"),
        ("docker run --name box --network=host --init localhost:5000/team/tool@sha256:00ff", "tool"),
        ("docker --context far container run --mount type=bind,src=/a,dst=/b tool:1", "tool"),
        ("podman exec -i -w /srv box server --stdio", "box"),
        ("docker run", "docker"),
        ("docker run -v", "docker"),
    ],
)
def test_a_server_is_called_after_what_its_launcher_starts(command: str, name: str) -> None:
    assert server_name(command.split()) == name
