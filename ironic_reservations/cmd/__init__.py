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

"""Console scripts for operators."""

import warnings

from oslo_service import backend

# oslo.messaging loads oslo.service, which uses eventlet unless a backend has
# been chosen. These processes have threads.
backend.register_backend_default_hook(lambda: backend.BackendType.THREADING)

# NOTE: even with threads, oslo.service loads futurist, which loads an
# installed eventlet only to detect it, and eventlet then warns that it is
# deprecated. The filter is appended, so that filters of the user's -W come
# first.
warnings.filterwarnings('ignore', r'\s*Eventlet is deprecated',
                        module=r'(futurist|oslo_utils)\b', append=True)
