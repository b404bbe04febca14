"""A worker for Overwinter that needs nothing but the standard library: Worker(url, token, {"llm": handler}).run()"""
import json
import logging
import signal
import threading
import time
import uuid
from urllib import error as urlerror, parse, request

POLL_S, ANSWER_S, SILENCE_S = 30, 15, 60
FIRST_PAUSE_S, LONGEST_PAUSE_S, ATTEMPTS = 0.25, 10, 6
NOTHING = object()
log = logging.getLogger("overwinter_worker")

class Fatal(Exception):
    """Raised by a handler when trying again is no use: the task is given up at once."""

class Lost(Exception):
    """The task is not this worker's any more: another one has it, or nobody wants it."""

class Refused(Exception):
    """The server will not have it, however often it is sent."""

class Handover(dict):
    """What `pause` and `go_on` make; a handler returns it instead of an output."""

class Task:
    """What a handler gets. What it returns is the output; what it raises fails the attempt (Fatal: for good)."""

    def __init__(self, worker, task_type, payload):
        self.id, self.run_id, self.step_id = payload["task_id"], payload["run_id"], payload["step_id"]
        self.type, self.input, self.last_checkpoint = task_type, payload.get("input"), payload.get("checkpoint")
        self.attempt, self.iteration = payload["attempt"], payload["iteration"]
        self.lost = threading.Event()  # Set when the work is for nothing: a long one may look at it.
        self._worker = worker

    def checkpoint(self, data):
        """Durable when it returns: whoever gets the task next finds it. Raises Lost when that is somebody else already."""
        self._say({"action": "checkpoint", "data": data})

    def pause(self, name, ms, checkpoint=NOTHING):
        """Return it to give the task up for a while, at most an hour: `return task.pause("cool-down", 30_000, state)`."""
        return Handover(action="pause", name=name, duration_ms=ms, **({} if checkpoint is NOTHING else {"checkpoint": checkpoint}))

    def go_on(self, checkpoint=NOTHING):
        """Return it to be called again at once with the iteration counted up: the loop of an agent."""
        return Handover(action="continue", **({} if checkpoint is NOTHING else {"checkpoint": checkpoint}))

    def _say(self, body, attempts=ATTEMPTS):
        path, key = f"/v1/tasks/{parse.quote(self.id, safe='')}/resolve", str(uuid.uuid4())
        for attempt in range(1, attempts + 1):
            if self.lost.is_set():
                raise Lost(self.id)
            try:  # The same key every time, so that it counts once.
                with self._worker._post(path, {**body, "attempt": self.attempt, "iteration": self.iteration}, key=key):
                    return
            except Lost:
                self.lost.set()
                raise
            except OSError:
                if attempt == attempts:
                    raise
                time.sleep(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (attempt - 1)))

class Worker:
    """`concurrency` is for each type of task; `heartbeat_s` says how often a task under way gives a sign of life."""

    def __init__(self, url, token, tasks, concurrency=4, worker_id=None, heartbeat_s=10, metadata=None):
        self.url, self.token, self.tasks, self.concurrency = url.rstrip("/"), token, tasks, concurrency
        self.id, self.heartbeat_s, self.metadata = worker_id or f"worker-{uuid.uuid4().hex[:8]}", heartbeat_s, metadata or {}
        self.in_hand, self.changed = set(), threading.Condition()
        self.stopping, self.refusal = threading.Event(), None

    def run(self, grace_s=30):
        """Works until `stop`, SIGTERM or SIGINT; then finishes what is in hand, and gives back what is not done in time."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):  # In a thread, for the handler may interrupt the wait itself.
                signal.signal(number, lambda *_: threading.Thread(target=self.stop).start())
        self._start(self._again, "connecting", self._connect)
        for task_type in self.tasks:
            self._start(self._again, f"polling for '{task_type}'", self._take, task_type)
        self.stopping.wait()
        with self.changed:
            self.changed.wait_for(lambda: not self.in_hand, grace_s)
        for task in list(self.in_hand):
            self._give_back(task)
        if self.refusal:
            raise self.refusal

    def stop(self):
        self.stopping.set()

    def _again(self, what, act, *args):
        """Over and over, more slowly after failures."""
        pause = FIRST_PAUSE_S
        while not self.stopping.is_set():
            try:
                act(*args)
                pause = FIRST_PAUSE_S
            except Refused as refusal:
                if act == self._connect:  # It can work without being listed.
                    return log.warning("%s: %s", what, refusal)
                self.refusal = refusal
                self.stop()
            except Exception as error:
                log.warning("%s failed, trying again in %s s: %s", what, pause, error)
                self.stopping.wait(pause)
                pause = min(LONGEST_PAUSE_S, pause * 2)

    def _connect(self):
        registration = {"worker_id": self.id, "task_types": list(self.tasks), "max_tasks": self.concurrency * len(self.tasks)}
        registration.update(language="python", transport="bridge", metadata=self.metadata)
        with self._post("/v1/workers/connect", registration, timeout=SILENCE_S) as heartbeats:
            while heartbeats.readline() and not self.stopping.is_set():
                pass

    def _take(self, task_type):
        """One type at a time, because a payload does not say of which it is."""
        free = lambda: self.concurrency - sum(task.type == task_type for task in self.in_hand)
        with self.changed:
            self.changed.wait_for(lambda: free() > 0)
            poll = {"task_types": [task_type], "max_tasks": free(), "timeout_ms": POLL_S * 1000, "worker_id": self.id, "in_hand": len(self.in_hand)}
        with self._post("/v1/tasks/poll", poll, timeout=POLL_S + ANSWER_S) as response:
            tasks = [Task(self, task_type, payload) for payload in json.load(response)]
        with self.changed:
            self.in_hand.update(tasks)
        for task in tasks:
            self._start(self._give_back if self.stopping.is_set() else self._perform, task)

    def _perform(self, task):
        self._start(self._show_life, task)
        try:
            given = self.tasks[task.type](task)
            task._say(given if isinstance(given, Handover) else {"action": "complete", "output": given})
        except Lost as loss:
            log.warning("task '%s' is not this worker's any more: %s", task.id, loss)
        except BaseException as error:  # Whatever it is, it is what became of the task. What was refused would be again.
            fatal = {"retryable": False} if isinstance(error, (Fatal, Refused)) else {}
            self._tell(task, {"action": "fail", "error": f"{type(error).__name__}: {error}"[:10_000], **fatal})
        self._let_go(task)

    def _show_life(self, task):
        while not task.lost.wait(self.heartbeat_s) and task in self.in_hand:
            self._tell(task, {"action": "checkpoint"}, attempts=1)

    def _give_back(self, task):
        self._tell(task, {"action": "pause", "name": "handed back", "duration_ms": 1})  # Costs the task no attempt.
        self._let_go(task)

    def _tell(self, task, body, attempts=ATTEMPTS):
        try:
            task._say(body, attempts)
        except (OSError, Refused, Lost) as error:
            log.warning("'%s' of task '%s' did not get through: %s", body["action"], task.id, error)

    def _let_go(self, task):
        task.lost.set()
        with self.changed:
            self.in_hand.discard(task)
            self.changed.notify_all()

    def _start(self, act, *args):
        threading.Thread(target=act, args=args, daemon=True).start()

    def _post(self, path, body, timeout=ANSWER_S, key=None):
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json", **({"idempotency-key": key} if key else {})}
        data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        try:
            return request.urlopen(request.Request(self.url + path, data, headers), timeout=timeout)
        except urlerror.HTTPError as answer:
            said = f"the server answered {answer.code}: {answer.read(500).decode(errors='replace')}"
            if key and answer.code in (404, 409):
                raise Lost(said) from answer
            raise (Refused if 400 <= answer.code < 500 and answer.code not in (408, 429) else OSError)(said) from answer
