"""Vectors and scores as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Scores = NDArray[np.float64]
else:  # numpy takes longer to load than a command line's help to print
    Vectors = Scores = Any
