"""Python classes of the redfuse ops, generated from RedfuseOps.td."""

from ._redfuse_ops_gen import *  # noqa: F403
