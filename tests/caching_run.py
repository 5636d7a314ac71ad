"""A run of nbmake whose result the build of the site finds."""

import time

from nbmake.nb_result import NotebookResult
from nbmake.nb_run import NotebookRun

from tools.executed import keep


class CachingRun(NotebookRun):
    """A run of nbmake whose result the build of the site finds."""

    def execute(self) -> NotebookResult:
        """Execute the notebook, and keep it if nothing failed."""
        start = time.perf_counter()
        result = super().execute()
        if result.error is None:
            keep(self.filename, result.nb, time.perf_counter() - start)
        return result
