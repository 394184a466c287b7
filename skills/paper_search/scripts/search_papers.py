"""Searches scholarly papers in six public sources at once; `--help` lists the options. Standard library only."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the folder of a skill is not ours to write into
sys.path.insert(0, str(Path(__file__).resolve().parent))


def run() -> int:
    """The exit code of the program."""
    from paper_search.cli import main

    return main(sys.argv[1:], Path(__file__).resolve())


if __name__ == "__main__":
    sys.exit(run())
