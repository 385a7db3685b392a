"""Measures daisy 1 for the benchmarks: one JSON request on argv, one JSON answer on the last line of stdout."""

import json
import sys
import time

import daisy
from daisy import Roi


def make_task(spec, workers=1):
    return daisy.Task(
        spec.get("taskId", "t"),
        Roi(*spec["total"]),
        Roi(*spec["read"]),
        Roi(*spec["write"]),
        process_function=lambda block: None,
        read_write_conflict=spec.get("conflict", True),
        num_workers=workers,
    )


def drain(request):
    tasks = [make_task(spec) for spec in request["tasks"]]
    start = time.perf_counter()
    scheduler = daisy.Scheduler(tasks)
    blocks = 0
    while True:
        block = scheduler.acquire_block(tasks[0].task_id)
        if block is None:
            break
        block.status = daisy.BlockStatus.SUCCESS
        scheduler.release_block(block)
        blocks += 1
    return {"blocks": blocks, "seconds": time.perf_counter() - start}


def run(request):
    start = time.perf_counter()
    daisy.run_blockwise([make_task(request["task"], request["workers"])])
    return {"blocks": request["blocks"], "seconds": time.perf_counter() - start}


if __name__ == "__main__":
    daisy.logging.set_log_basedir(None) if hasattr(daisy, "logging") else None
    request = json.loads(sys.argv[1])
    print("\n" + json.dumps({"drain": drain, "run": run}[request["what"]](request)), flush=True)
