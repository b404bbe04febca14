"""Does what `overwinter conformance --worker` asks for. conformance.ts does the same."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../workers/python"))
from overwinter_worker import Fatal, Worker  # noqa: E402


def fail_once(task):
    if task.attempt == 1:
        raise ValueError("once")
    return {"attempt": task.attempt}


def fatal(task):
    raise Fatal("never")


def pause_once(task):
    return task.last_checkpoint or task.pause("cool-down", 500, {"page": 2})


def count_to_three(task):
    counted = [*(task.last_checkpoint or []), task.iteration]
    return task.go_on(counted) if task.iteration < 3 else counted


def slow(task):
    for i in range(5):
        time.sleep(0.5)
        task.checkpoint(i)
    return {"attempt": task.attempt}


def crash_once(task):
    if task.attempt > 1:
        return task.last_checkpoint
    task.checkpoint({"done": 1})
    os.kill(os.getpid(), signal.SIGKILL)


tasks = {"echo": lambda task: task.input, "fail-once": fail_once, "fatal": fatal, "pause-once": pause_once}
tasks.update({"count-to-three": count_to_three, "slow": slow, "crash-once": crash_once})
Worker(os.environ["OVERWINTER_URL"], os.environ["OVERWINTER_WORKER_TOKEN"], tasks).run()
