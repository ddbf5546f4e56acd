"""Property tests draw on a busy machine as on an idle one: how long an example takes proves nothing here."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "any machine",
    parent=settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")
