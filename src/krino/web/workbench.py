"""What every route of the workbench works with: settings, runs, labels and the judging desk."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from krino.people.store import LabelStore
from krino.web.desk import Desk
from krino.web.meters import Meters
from krino.web.run_index import RunShelf
from krino.web.sessions import Doorkeeper
from krino.web.settings import ServeSettings


class Workbench:
    """On `app.state.workbench`; a route gets it as a parameter of the type `Bench`, or with `workbench(request)`."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.runs = RunShelf(settings.runs)
        self.labels = LabelStore(settings.database or settings.runs)
        self.meters = Meters()
        self.desk = Desk(settings, self.meters)
        self.doorkeeper = Doorkeeper(settings.token)

    def close(self) -> None:
        self.desk.close()
        self.labels.close()
        self.runs.close()


def workbench(request: Request) -> Workbench:
    """The workbench that a request belongs to."""
    found = request.app.state.workbench
    assert isinstance(found, Workbench)
    return found


Bench = Annotated[Workbench, Depends(workbench)]
