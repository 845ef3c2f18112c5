"""Learns the reliability table that ships from recorded trajectories and writes it as a Python module.

usage: learn_reliability.py RECORDINGS... --out proxy/rearview/learn/reliability_data.py [--limit N]
"""

import argparse
import pathlib

from replay import learned

HEAD = '"""The reliability table that ships; written by bench/learn_reliability.py, not by hand."""\n\n'


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--limit", type=int, default=10_000, help="runs of each file")
    options = parser.parse_args()
    cells = learned(options.paths, options.limit).cells()
    lines = [f'    "{"/".join(cell)}": ({right:.1f}, {met:.1f}),\n' for cell, (right, met) in sorted(cells.items())]
    options.out.write_text(
        f"{HEAD}LEARNED: dict[str, tuple[float, float]] = {{\n{''.join(lines)}}}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
