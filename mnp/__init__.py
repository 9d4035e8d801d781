"""A multi-node GPU cluster on AWS Batch, ready for EFA."""

__version__ = "0.1.0"
