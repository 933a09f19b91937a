"""Vectors and scores as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


Scores = NDArray[np.float64]
