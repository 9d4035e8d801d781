"""`tensorflow`: the command once per node, with TensorFlow's TF_CONFIG."""

from __future__ import annotations

import json

from .launch import Job, Launch


def tensorflow(job: Job) -> Launch:
    """One worker per node, which uses all of the node's GPUs; the main node is worker 0, the chief.

    Source: https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable
    (2026-11-21). TensorFlow ignores SIGTERM while it waits for another worker, so that only SIGKILL ends it then.
    """
    workers = [f"{address}:{job.port(rank)}" for rank, address in enumerate(job.addresses)]
    config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": job.rank}}
    return Launch(tuple(job.command), {"TF_CONFIG": json.dumps(config)})
