"""Measures daisy 2 for the benchmarks: one JSON request on argv, one JSON answer on the last line of stdout."""

import json
import os
import resource
import sys
import time

import daisy.v2 as daisy
from daisy import Roi


def nothing(block):
    return None


def make_task(spec, function=nothing, **more):
    return daisy.Task(
        task_id=spec.get("taskId", "t"),
        total_roi=Roi(*spec["total"]),
        read_roi=Roi(*spec["read"]),
        write_roi=Roi(*spec["write"]),
        process_function=function,
        read_write_conflict=spec.get("conflict", True),
        **more,
    )


def drain(request):
    tasks = [make_task(spec, **({"tracking_path": spec["trackingPath"]} if "trackingPath" in spec else {})) for spec in request["tasks"]]
    pipeline = tasks[0]
    for task in tasks[1:]:
        pipeline = pipeline + task
    start = time.perf_counter()
    scheduler = daisy.Scheduler(pipeline)
    blocks = 0
    open_tasks = [task.task_id for task in tasks]
    while open_tasks:
        progressed = False
        for task_id in open_tasks:
            while True:
                block = scheduler.acquire_block(task_id)
                if block is None:
                    break
                block.status = daisy.BlockStatus.SUCCESS
                scheduler.release_block(block)
                blocks += 1
                progressed = True
        if not progressed:
            break
    return {"blocks": blocks, "seconds": time.perf_counter() - start}


def run(request):
    more = {"max_workers": request["workers"], "max_worker_restarts": 0}
    if "trackingPath" in request:
        more["tracking_path"] = request["trackingPath"]
    if "markers" in request:
        folder = request["markers"]
        more["check_function"] = lambda block: os.path.exists(f"{folder}/{block.block_id[1]}")
    if request.get("masked"):
        import numpy

        shape = make_task(request["task"]).block_grid_shape
        more["skip_mask"] = numpy.ones(shape, dtype=numpy.uint8)
    sleep = request.get("spinSeconds", 0)

    def work(block):
        if sleep:
            end = time.perf_counter() + sleep
            while time.perf_counter() < end:
                pass

    task = make_task(request["task"], work, **more)
    start = time.perf_counter()
    states = daisy.Server().run_blockwise(task, progress=False, summary=False)
    seconds = time.perf_counter() - start
    state = states["t"]
    return {
        "blocks": state.completed_count,
        "skipped": state.skipped_count,
        "starts": state.worker_start_count,
        "seconds": seconds,
        "peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


if __name__ == "__main__":
    import daisy.logging

    daisy.logging.set_log_basedir(None)
    request = json.loads(sys.argv[1])
    answer = {"drain": drain, "run": run}[request["what"]](request)
    print(json.dumps(answer), flush=True)
