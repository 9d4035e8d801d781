"""No test may reach a real AWS account, and jsii gets the Node that the project pins."""

from __future__ import annotations

import os
import signal

from stacks.jsii_node import pinned_node

os.environ.update(
    {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_PAGER": "",
        "JSII_NODE": pinned_node(),
    }
)
for _name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "MNP_CLUSTER"):
    os.environ.pop(_name, None)

# A shell has its background jobs ignore Ctrl-C, and what the tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
