"""The services that routes use: settings, runs, labels, judging, metrics and access."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from krino.people.store import LabelStore
from krino.web.judging.service import JudgingService
from krino.web.metrics import Metrics
from krino.web.runs_folder import RunsFolder
from krino.web.sessions import TokenAuth
from krino.web.settings import ServeSettings


class Workbench:
    """The services of one server, on `app.state.workbench`. Routes take it as a parameter of type `WorkbenchDep`."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.runs = RunsFolder(settings.runs)
        self.labels = LabelStore(settings.database or settings.runs)
        self.metrics = Metrics()
        self.judging = JudgingService(settings, self.metrics)
        self.auth = TokenAuth(settings.token)

    def close(self) -> None:
        """Closes judging, labels and runs; background work is ended."""
        self.judging.close()
        self.labels.close()
        self.runs.close()


def get_workbench(request: Request) -> Workbench:
    """Returns the workbench that a request belongs to."""
    found = request.app.state.workbench
    assert isinstance(found, Workbench)
    return found


WorkbenchDep = Annotated[Workbench, Depends(get_workbench)]
