"""Loop orders of the plain path: better memory order, the same numbers."""

import numpy as np
import redfuse
from redfuse.bench import exact, programs


def test_convolutions_and_matmuls_are_right() -> None:
    random = np.random.default_rng(0)
    x, w1, w2 = (
        random.standard_normal(shape).astype(np.float32)
        for shape in ((2, 3, 9, 9), (4, 3, 3, 3), (5, 4, 1, 1))
    )
    got = redfuse.compile(programs.conv_chain(2, 3, 9, 4, 5, 3), options={"fuse": False})(x, w1, w2)
    assert exact.error(exact.conv_chain([x, w1, w2]), [got]) < 1e-5
