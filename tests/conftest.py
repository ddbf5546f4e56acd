"""Property tests draw on a busy machine as on an idle one: how long an example takes proves nothing here.

A shell that starts the tests in the background has them ignore Ctrl-C, and so would every command that they start: the
tests of Ctrl-C want it as users have it.
"""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "any machine",
    parent=settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")

signal.signal(signal.SIGINT, signal.default_int_handler)
