#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""How many examples a property is tried with."""

from __future__ import annotations

import hypothesis

#: Who runs the tests by hand, often, draws others each time.
_BY_HAND = 3


def in_ci(count: int) -> hypothesis.settings:
    """Draw so many examples in CI, and a third of them elsewhere.

    CI draws the same ones each time.
    """
    everything = hypothesis.settings.get_current_profile_name() == 'ci'
    return hypothesis.settings(
        max_examples=count if everything else count // _BY_HAND)
