"""An agent whose steps run in Python: each call is one iteration of its loop, and its state is the checkpoint.

    OVERWINTER_WORKER_TOKEN=… python3 agent.py

It does the tasks of workflows/research.ts. A real agent would ask a model. This one looks into a small library, so that
its answers are the same every time.
"""
import os

from overwinter_worker import Fatal, Worker

LIBRARY = {
    "hibernation": ("a long sleep through the cold", ["torpor", "brown fat"]),
    "torpor": ("heart and breath slow down", ["metabolism"]),
    "brown fat": ("burns without shivering", ["metabolism"]),
    "metabolism": ("what a body does with its fuel", []),
}


def research(task):
    """One thought: read about the next thing, and note what else there is to read about."""
    topic = task.input["topic"]
    if topic not in LIBRARY:
        raise Fatal(f"the library has nothing about '{topic}'")
    known = task.last_checkpoint or {"notes": [], "open": [topic]}
    subject, *others = known["open"]
    fact, links = LIBRARY[subject]
    notes = [*known["notes"], {"subject": subject, "fact": fact}]
    read = {note["subject"] for note in notes}
    still_open = list(dict.fromkeys(each for each in [*others, *links] if each not in read))
    if still_open:
        return task.go_on({"notes": notes, "open": still_open})
    return {"notes": notes, "thoughts": task.iteration + 1}


if __name__ == "__main__":
    url = os.environ.get("OVERWINTER_URL", "http://localhost:4400")
    Worker(url, os.environ["OVERWINTER_WORKER_TOKEN"], {"research": research}).run()
