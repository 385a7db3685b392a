"""Runs tasks with daisy 2.0.0 on tracking stores, and tells what happened.

Requests come as a JSON list on standard input, answers leave as one on the last line of standard
output. A request with `look` only opens the store with zarr. Any other holds a task's `total`,
`read`, `write`, `fit`, `trackingPath` and `resourceTracking`, and may hold `mask` (blocks left out,
flat, with `maskShape`), and `fail` (ids of blocks that raise, in a worker process).
"""

import json
import logging
import sys

import daisy.v2 as daisy
import numpy
import zarr
from daisy import Roi

logging.disable(logging.CRITICAL)


def look(path):
    group = zarr.open_group(path, mode="r")
    flat = {}
    for name in sorted(group.array_keys()):
        values = group[name][:].ravel().tolist()
        flat[name] = ["NaN" if value != value else value for value in values]
    return {"arrays": flat, "hash": group.attrs.get("daisy_task_hash")}


def run(request):
    ran = []
    fail = set(request.get("fail", []))

    def process(block):
        ran.append(block.block_id[1])
        if block.block_id[1] in fail:
            raise ValueError("as asked")

    more = {}
    if "mask" in request:
        mask = numpy.array(request["mask"], dtype=numpy.uint8)
        more["skip_mask"] = mask.reshape(request["maskShape"])
    task = daisy.Task(
        task_id="interchange",
        total_roi=Roi(*request["total"]),
        read_roi=Roi(*request["read"]),
        write_roi=Roi(*request["write"]),
        process_function=process,
        read_write_conflict=False,
        fit=request["fit"],
        tracking_path=request["trackingPath"],
        resource_tracking=request["resourceTracking"],
        max_retries=1,
        max_workers=1,
        max_worker_restarts=100,
        **more,
    )
    states = daisy.run_blockwise(
        task, multiprocessing=bool(fail), progress=False, summary=False, return_states=True
    )
    state = states["interchange"]
    return {
        "ran": sorted(ran),
        "completed": state.completed_count,
        "skipped": state.skipped_count,
        "failed": sorted(block.block_id[1] for block in task.failed_blocks()),
    }


def main():
    requests = json.load(sys.stdin)
    answers = [look(each["look"]) if "look" in each else run(each) for each in requests]
    print("\n" + json.dumps(answers))


if __name__ == "__main__":
    main()
