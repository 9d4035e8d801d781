"""An all-reduce by TensorFlow's MultiWorkerMirroredStrategy."""

import tensorflow as tf
from seen import value, write

options = tf.distribute.experimental.CommunicationOptions(
    implementation=tf.distribute.experimental.CommunicationImplementation.RING
)
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
rank = strategy.cluster_resolver.task_id or 0


@tf.function
def total() -> tf.Tensor:
    """The sum over all workers."""

    def replica() -> tf.Tensor:
        return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(value(rank)))

    return strategy.run(replica)


write(rank, strategy.num_replicas_in_sync, float(total()))
