"""Good calls of the tools that were called wrongly, in forms that no task has used; none of them may be held."""

from collections.abc import Mapping
from typing import Any

from e2e.mistakes import Place

Calls = list[tuple[str, Mapping[str, Any]]]


def filesystem(at: Place, root: str) -> Calls:
    """Other keys, other forms of paths, empty and repeated values."""
    inside = str(at.folder).removeprefix(f"{root}/")
    return [
        ("read_text_file", {"path": f"{inside}/{at.file.name}"}),
        ("read_text_file", {"path": str(at.file), "tail": 2}),
        ("get_file_info", {"path": root}),
        # Relative paths, where all that led out of the root were refused.
        ("get_file_info", {"path": f"{inside}/{at.file.name}"}),
        ("get_file_info", {"path": f"{inside}/../{inside.rpartition('/')[2]}/{at.file.name}"}),
        ("search_files", {"path": inside, "pattern": "*"}),
        ("list_directory_with_sizes", {"path": inside}),
        ("list_directory", {"path": inside}),
        ("list_directory", {"path": root}),
        ("list_directory_with_sizes", {"path": str(at.folder)}),
        ("list_directory_with_sizes", {"path": root, "sortBy": "name"}),
        ("read_multiple_files", {"paths": [str(at.file), f"{inside}/{at.second.name}"]}),
        ("edit_file", {"path": str(at.file), "edits": [], "dryRun": True}),
        ("move_file", {"source": str(at.second), "destination": f"{inside}/{at.word}.moved"}),
        ("write_file", {"path": f"{inside}/{at.word}.empty", "content": ""}),
        ("write_file", {"path": str(at.file), "content": '{"text": "file", "path": 1}'}),
        ("create_directory", {"path": f"{at.folder}/{at.word}/{at.branch}"}),
        ("directory_tree", {"path": root}),
        ("search_files", {"path": root, "pattern": "**"}),
    ]


def git(at: Place) -> Calls:
    """The same for a repository, which is changed by them."""
    repo = str(at.folder)
    return [
        ("git_status", {"repo_path": f"{repo}/"}),
        ("git_log", {"repo_path": repo}),
        ("git_log", {"repo_path": repo, "max_count": 1, "start_timestamp": "2 weeks ago"}),
        ("git_branch", {"repo_path": repo, "branch_type": "all"}),
        ("git_create_branch", {"repo_path": repo, "branch_name": at.word, "base_branch": "trunk"}),
        ("git_checkout", {"repo_path": repo, "branch_name": at.word}),
        ("git_add", {"repo_path": repo, "files": ["."]}),
        ("git_diff_staged", {"repo_path": repo}),
        ("git_show", {"repo_path": repo, "revision": "trunk"}),
        ("git_reset", {"repo_path": repo}),
    ]
