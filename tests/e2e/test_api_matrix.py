"""The real program, headless, over every API in every protocol: the same task, the same answer, a true bill.

The servers are as strict as the real ones. `python -m tests.bench.api_matrix` prints the same runs as a table.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.api_matrix import run_task
from tests.fakes.api_servers.houses import APIS, PROTOCOLS, ApiName, price_of

pytestmark = pytest.mark.e2e

ANSWER = "apples: 17, pears: 25, total: 42"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("api", APIS)
def test_the_task_completes_and_the_bill_is_true(tmp_path: Path, api: ApiName, protocol: str) -> None:
    run = run_task(tmp_path, api, protocol)
    assert run.server.complaints == []
    assert (run.ended.code, run.result["result"]) == (0, ANSWER), run.ended.stderr
    assert (run.place.work / "total.txt").read_text() == "42\n"
    assert run.steps == [["read_file", "read_file"], ["run_shell_command"], []]
    assert (len(run.server.requests), run.result["num_turns"], run.result["permission_denials"]) == (3, 3, [])
    bill, usage = run.server.billed, run.result["usage"]
    assert [row.told for row in run.server.bill] == [True] * 3
    assert usage["input_tokens"] == bill.input
    assert usage["output_tokens"] == bill.output
    assert usage["cache_read_input_tokens"] == bill.cache_read
    assert usage["cache_creation_input_tokens"] == bill.cache_write
    assert bill.reasoning > 0
    assert bill.cache_read > bill.input, "the second and the third request repeat the first"
    assert run.result["total_cost_usd"] == pytest.approx(float(price_of(bill)), abs=1e-12)
    assert run.result["cost"]["state"] == "reported"
