"""`python -m reactagent_tui`."""

from __future__ import annotations

import sys

from reactagent_tui.cli import main

sys.exit(main())
