"""An all-gather by JAX over all processes, and its sum."""

import os

import jax
from seen import value, write

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=int(os.environ["JAX_PROCESS_ID"])
)
from jax.experimental.multihost_utils import process_allgather  # noqa: E402 - it may ask for devices

numbers = process_allgather(jax.numpy.float32(value(jax.process_index())))
write(jax.process_index(), jax.process_count(), float(numbers.sum()))
