"""A worker to be killed. squares.ts does the same."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../workers/python"))
from overwinter_worker import Worker  # noqa: E402


def square(task):
    time.sleep(task.input["ms"] / 1000)
    return task.input["n"] ** 2


Worker(os.environ["URL"], os.environ["TOKEN"], {"square": square}, heartbeat_s=0.5).run()
