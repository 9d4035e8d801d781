"""AWS on localhost: what `mnp` deploys to, and runs on, without an AWS account.

A moto server (https://docs.getmoto.org) with what moto lacks, on 127.0.0.1 only:

- CloudFormation (`cloudformation/`) with a handler per resource type that calls the services' public APIs, updates in
  place where CloudFormation does, replaces where it replaces, rolls back, and refuses what nobody models by name;
- EC2 placement groups (`ec2/`);
- EC2 Image Builder (`image_builder/`), whose builds register a copy of the parent image and run nothing;
- AWS Batch (`batch/`), multinode parallel jobs with node overrides, refusing what AWS refuses;
- an executor (`executor/`) that runs a job's nodes as local processes with Batch's documented semantics.

What it does not model: images (a job's command runs on this machine, as this user), GPUs, EFA, instances that take
minutes to start, IAM's decisions, prices, quotas, array jobs, EKS and Fargate, Lambda functions and custom resources.
Log streams, exit codes, retries, timeouts, states and errors are AWS's as far as its documentation tells.

`LocalAws` is the server as an object; `mnp.local_aws.daemon` keeps one running in the background.
"""

from __future__ import annotations

from mnp.local_aws.errors import LocalAwsError, PortTakenError, StartError, UnsupportedMotoError
from mnp.local_aws.server import LocalAws

__all__ = ["LocalAws", "LocalAwsError", "PortTakenError", "StartError", "UnsupportedMotoError"]
