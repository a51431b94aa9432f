"""What all tests share: hypothesis tries the same cases each time, and no clock decides.

`HYPOTHESIS_PROFILE=search` looks for new cases instead, with ten times as many; what it finds becomes a test of its own.
"""

import os

from hypothesis import HealthCheck, settings

CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("repeat", derandomize=True, database=None, **CALM)
settings.register_profile("search", max_examples=1000, **CALM)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))
