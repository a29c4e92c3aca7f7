

import hypothesis

# NOTE: how long an example takes is the machine's affair; in CI Hypothesis
# thinks so by itself.
hypothesis.settings.register_profile(
    'any-machine', deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
if not hypothesis.settings.get_current_profile_name() == 'ci':
    hypothesis.settings.load_profile('any-machine')
