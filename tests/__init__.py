

import logging
import os

import hypothesis

# NOTE: how long an example takes is the machine's affair; in CI Hypothesis
# thinks so by itself.
hypothesis.settings.register_profile(
    'any-machine', deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
if not hypothesis.settings.get_current_profile_name() == 'ci':
    hypothesis.settings.load_profile('any-machine')

# NOTE: faults are caused here on purpose, and what is logged of them would
# bury the one that was not; IRONIC_RESERVATIONS_TEST_LOG=1 shows it.
if not os.environ.get('IRONIC_RESERVATIONS_TEST_LOG'):
    logging.getLogger().addHandler(logging.NullHandler())
