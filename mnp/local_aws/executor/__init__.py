"""The executor: jobs of the embedded Batch as local processes, one per node, with AWS Batch's documented semantics.

The main node starts first, the others in random order once it runs; the main node's exit ends the job and stops the
others; a child's death alone does nothing; only a failure of the main node is retried; timeout and TerminateJob end
all nodes without a retry. The image is not pulled: a node's command runs on this machine, in a private empty folder.

References, checked 2026-11-21: https://docs.aws.amazon.com/batch/latest/userguide/multi-node-parallel-jobs.html,
mnp-env-vars.html, job-lifecycle.html, job_retries.html, job_timeouts.html in the same guide.
"""
