"""Fits a line to points by gradient descent, slowly, and keeps its progress so that it can be killed at any moment.

    train.py POINTS MODEL

ASSAY_CHECKPOINT says which checkpoint lies in progress/ (0: none). After each epoch the state is moved into progress/ by
renaming it, so that it is always whole, and Assay is asked to seal it.
"""
import json
import os
import sys
import time
import uuid

EPOCHS = 40
STEPS = 50
PROGRESS = "progress/state.json"


def load_points(path):
    with open(path) as file:
        return [tuple(map(float, line.split())) for line in file]


def begin():
    if int(os.environ.get("ASSAY_CHECKPOINT", 0)) == 0:
        return {"epoch": 0, "slope": 0.0, "offset": 0.0}
    with open(PROGRESS) as file:
        return json.load(file)


def train_epoch(state, points):
    for _ in range(STEPS):
        errors = [(state["slope"] * x + state["offset"] - y, x) for x, y in points]
        state["slope"] -= 0.01 * sum(error * x for error, x in errors) / len(points)
        state["offset"] -= 0.01 * sum(error for error, _ in errors) / len(points)
        time.sleep(0.001)
    state["epoch"] += 1


def keep(state):
    os.makedirs("progress", exist_ok=True)
    with open(PROGRESS + ".new", "w") as file:
        json.dump(state, file)
    os.rename(PROGRESS + ".new", PROGRESS)


def ask_for_checkpoint():
    """What `assay checkpoint` does. Without Assay around it, nothing."""
    desk = os.environ.get("ASSAY_CHECKPOINT_DESK")
    if desk is None:
        return
    request = os.path.join(desk, f"{uuid.uuid4()}.request")
    open(request, "w").close()
    while os.path.exists(request):
        time.sleep(0.01)


def main(points_file, model_file):
    points = load_points(points_file)
    state = begin()
    while state["epoch"] < EPOCHS:
        train_epoch(state, points)
        print(f"epoch {state['epoch']}", flush=True)
        keep(state)
        ask_for_checkpoint()
    with open(model_file, "w") as file:
        json.dump({"slope": state["slope"], "offset": state["offset"]}, file)


main(*sys.argv[1:])
