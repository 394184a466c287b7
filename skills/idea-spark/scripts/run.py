"""Command line of idea-spark: `next` says what to do, the other subcommands do the parts that need no model."""

from __future__ import annotations

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from idea_spark.cli import main  # noqa: E402 - the folder must be on the path first

if __name__ == "__main__":
    sys.exit(main())
