"""A worker for Overwinter that needs nothing but the standard library: Worker(url, token, {"llm": handler}).run()"""
import contextlib, http.client as client, json, logging, signal, socket, threading, urllib.parse as parse, uuid

POLL_S, ANSWER_S, SILENCE_S, FIRST_PAUSE_S, LONGEST_PAUSE_S, ATTEMPTS = 30, 15, 60, 0.25, 10, 6
CONNECT, log = {"http": client.HTTPConnection, "https": client.HTTPSConnection}, logging.getLogger("overwinter_worker")

class Fatal(Exception): """Raise it in a handler if a retry is no use: the task fails at once."""
class Lost(Exception): """Another worker has the task, or its run has withdrawn it."""
class Refused(Exception): """The server refuses the request; a retry would not help."""
class Handover(dict): """Made by `pause` and `go_on`; a handler returns it instead of an output."""
def _saved(checkpoint): return {} if checkpoint is None else {"checkpoint": checkpoint}

class Task:
    """What a handler gets. Its return value is the output; an exception fails the attempt (Fatal: the task)."""
    def __init__(self, worker, task_type, payload):
        self.id, self.run_id, self.step_id = payload["task_id"], payload["run_id"], payload["step_id"]
        self.type, self.input, self.last_checkpoint = task_type, payload.get("input"), payload.get("checkpoint")
        self.attempt, self.iteration, self._post = payload.get("attempt", 1), payload.get("iteration", 0), worker._post
        self.lost = threading.Event()  # Set when the result would be discarded; a long handler may check it.

    def checkpoint(self, data):
        """Durable when it returns: the next worker of the task gets it. Raises Lost if another worker has the task."""
        self._say({"action": "checkpoint", "data": data})

    def pause(self, name, ms, checkpoint=None):
        """Return it to release the task for at most an hour: `return task.pause("cool-down", 30_000, state)`."""
        return Handover(action="pause", name=name, duration_ms=ms, **_saved(checkpoint))

    def go_on(self, checkpoint=None):
        """Return it to be called again at once with the next iteration: the loop of an agent."""
        return Handover(action="continue", **_saved(checkpoint))

    def _say(self, body, attempts=ATTEMPTS):
        path, key = f"/v1/tasks/{parse.quote(self.id, safe='')}/resolve", str(uuid.uuid4())
        for attempt in range(attempts):
            if self.lost.wait(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempt) if attempt else 0):
                raise Lost(self.id)
            try:  # The same key for every repeat, so that it counts once.
                return self._post(path, {**body, "attempt": self.attempt, "iteration": self.iteration}, key=key).close()
            except (OSError, client.HTTPException):
                if attempt + 1 == attempts:
                    raise

class Worker:
    """`concurrency`: per type; `heartbeat_s`: between heartbeats of a task; `connect`: be listed with a connection."""
    def __init__(self, url, token, tasks, concurrency=4, worker_id=None, heartbeat_s=10, metadata=None, connect=True):
        self.url, self.token, self.tasks, self.concurrency = parse.urlsplit(url.rstrip("/")), token, tasks, concurrency
        self.id, self.heartbeat_s = worker_id or f"worker-{uuid.uuid4().hex[:8]}", heartbeat_s
        self.in_hand, self.polls, self.changed, self.refusal = set(), set(), threading.Condition(), None
        self.stopping, self.connects, self.unanswered, self.metadata = threading.Event(), connect, {}, metadata or {}
        self.stop = self.stopping.set

    def run(self, grace_s=30):
        """Works until `stop`, SIGTERM or SIGINT; then finishes its tasks, and releases those not done in time."""
        for number in (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ():
            signal.signal(number, lambda *_: self._start(self.stop))  # In a thread: this one may be about to wait.
        self.connects and self._start(self._again, "connecting", self._connect)
        for task_type in self.tasks:
            self._start(self._again, f"polling for '{task_type}'", self._take, task_type)
        self.stopping.wait()
        for connection in list(self.polls):
            with contextlib.suppress(OSError, AttributeError):  # It may just have got its answer.
                connection.sock.shutdown(socket.SHUT_RDWR)
        with self.changed:
            self.changed.wait_for(lambda: not self.in_hand, grace_s)
        for task in list(self.in_hand):
            self._tell(task, task.pause("handed back", 1))  # Costs the task no attempt.
            task.lost.set()
        if self.refusal:
            raise self.refusal

    def _again(self, what, act, *args):
        failures = 0
        while not self.stopping.wait(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**failures) if failures else 0):
            try:
                act(*args)
                failures = 0
            except Refused as refusal:
                self.refusal = refusal
                self.stop()
            except Exception as trouble:
                failures += 1
                self.stopping.is_set() or log.warning("%s failed, trying again: %s", what, trouble)

    def _connect(self):
        registration = {"worker_id": self.id, "language": "python", "transport": "bridge", "metadata": self.metadata}
        registration.update(task_types=list(self.tasks), max_tasks=self.concurrency * len(self.tasks))
        with self._post("/v1/workers/connect", registration, timeout=SILENCE_S) as heartbeats:
            while heartbeats.readline() and not self.stopping.is_set():
                pass

    def _take(self, task_type):  # One type: a payload does not name it. A repeated poll keeps its id.
        with self.changed:
            free = self.changed.wait_for(lambda: self.concurrency - sum(t.type == task_type for t in self.in_hand))
        poll = {"task_types": [task_type], "max_tasks": free, "timeout_ms": POLL_S * 1000, "worker_id": self.id}
        poll.update(in_hand=len(self.in_hand), poll_id=self.unanswered.setdefault(task_type, uuid.uuid4().hex))
        with self._post("/v1/tasks/poll", poll, timeout=POLL_S + ANSWER_S) as response, self.changed:
            tasks, _ = [Task(self, task_type, each) for each in json.load(response)], self.unanswered.pop(task_type)
            self.in_hand.update(tasks)
            for task in tasks:
                self._start(self._perform, task)

    def _perform(self, task):
        self._start(self._show_life, task)
        try:
            given = task.pause("handed back", 1) if self.stopping.is_set() else self.tasks[task.type](task)
            task._say(given if isinstance(given, Handover) else {"action": "complete", "output": given})
        except Lost as loss:
            log.warning("task '%s' is not this worker's any more: %s", task.id, loss)
        except BaseException as failure:  # A refused output would be refused again.
            for_good = {"retryable": False} if isinstance(failure, (Fatal, Refused)) else {}
            self._tell(task, {"action": "fail", "error": f"{type(failure).__name__}: {failure}"[:10_000], **for_good})
        task.lost.set()
        with self.changed:
            self.in_hand.discard(task)
            self.changed.notify_all()

    def _show_life(self, task):
        while not task.lost.wait(self.heartbeat_s):
            self._tell(task, {"action": "checkpoint"}, attempts=1)

    def _tell(self, task, body, attempts=ATTEMPTS):
        try:
            task._say(body, attempts)
        except Exception as trouble:
            task.lost.set() if isinstance(trouble, Lost) else None
            log.warning("'%s' of task '%s' did not get through: %s", body["action"], task.id, trouble)

    def _start(self, act, *args):
        threading.Thread(target=act, args=args, daemon=True).start()

    def _post(self, path, body, timeout=ANSWER_S, key=None):
        connection = CONNECT[self.url.scheme](self.url.netloc, timeout=timeout)
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json", "connection": "close"}
        data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        connection.connect()
        try:
            self.polls.update([] if key else [connection])
            if self.stopping.is_set() and not key:
                raise OSError("it has to stop")
            connection.request("POST", self.url.path + path, data, headers | ({"idempotency-key": key} if key else {}))
            answer = connection.getresponse()
        finally:
            self.polls.discard(connection)
        if answer.status < 300:
            return answer
        said = f"the server answered {answer.status}: {answer.read(500).decode(errors='replace')}"
        if key and answer.status in (404, 409):
            raise Lost(said)
        raise (Refused if 400 <= answer.status < 500 and answer.status not in (408, 429) else OSError)(said)
