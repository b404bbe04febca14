"""MiniStack with fast timers: its stock ones (10 s between schedule sweeps, say) would make every test wait. And with AWS's idea of permissions."""

import closer_to_aws  # noqa: F401
from ministack.app import main
from ministack.core import concurrency, lambda_runtime
from ministack.services import scheduler

scheduler._SCHEDULE_TICK_INTERVAL = 0.2

_wait_for_work = concurrency.esm_wake.wait
concurrency.esm_wake.wait = lambda timeout=None: _wait_for_work(0.05 if timeout is None else min(timeout, 0.05))

# first_line_wait, idle_confirm, hard_cap
lambda_runtime.Worker._drain_stderr_bounded.__defaults__ = (0.003, 0.001, 0.25)

main()
