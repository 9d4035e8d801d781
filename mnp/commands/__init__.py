"""The operator's command `mnp`: one module a verb. It reads the contract of a deployed cluster, never a template."""
