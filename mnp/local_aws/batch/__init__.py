"""AWS Batch: compute environments, job queues, job definitions and jobs, multinode jobs above all.

A service of its own beside moto, which drops node overrides, has no nodes to describe and runs jobs in docker.
Requests are checked against botocore's model of the API; refusals have AWS's error shape and, where known, its words.
Not modelled: array jobs, EKS, Fargate, scheduling policies (a queue is first in, first out), consumable resources.

References, checked 2026-11-21: https://docs.aws.amazon.com/batch/latest/APIReference/ and
https://docs.aws.amazon.com/batch/latest/userguide/multi-node-parallel-jobs.html
"""
