"""What is varied, or the techniques that there are -> candidates -> runs, compared in one table."""

from rag_pg.evaluation.sweep.estimate import Corpus, estimate_sweep
from rag_pg.evaluation.sweep.grid import (
    MODES,
    make_candidates,
    read_options,
    read_vary,
    settings_key,
    settings_of,
)
from rag_pg.evaluation.sweep.measure import (
    Comparing,
    Measure,
    compare_measured,
    find_equal,
    measure_candidates,
)
from rag_pg.evaluation.sweep.techniques import Facilities, list_techniques
