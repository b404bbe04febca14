"""A worker as a user would write one, in a process of its own. worker.ts does the same."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../workers/python"))
from overwinter_worker import Worker  # noqa: E402


def wait(task):
    """Says that it has begun, and waits until a file is there."""
    open(task.input["file"] + ".begun", "w").close()
    while not os.path.exists(task.input["file"]):
        time.sleep(0.02)
    return {"attempt": task.attempt}


handlers = {"echo": lambda task: task.input, "wait": wait, "large": lambda task: "x" * 2**20}
heartbeat_s, connect = float(os.environ.get("HEARTBEAT_S", "0.2")), os.environ.get("CONNECT", "yes") == "yes"
worker = Worker(os.environ["URL"], os.environ["TOKEN"], handlers, heartbeat_s=heartbeat_s, connect=connect)
worker.run(grace_s=float(os.environ.get("GRACE_S", "30")))
