"""Moved to `krino.contract`; this forwarder goes away once all imports have followed."""

from krino.contract import *  # noqa: F403
from krino.contract import (
    Finding as Finding,
)
from krino.contract import (
    Judge as Judge,
)
from krino.contract import (
    Judgement as Judgement,
)
from krino.contract import (
    Media as Media,
)
from krino.contract import (
    Passage as Passage,
)
from krino.contract import (
    Questions as Questions,
)
from krino.contract import (
    Ruling as Ruling,
)
from krino.contract import (
    Settlement as Settlement,
)
from krino.contract import (
    Source as Source,
)
from krino.contract import (
    Status as Status,
)
