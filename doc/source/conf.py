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

"""How Sphinx builds the documentation."""

import configparser
import pathlib
import runpy

_ROOT = pathlib.Path(__file__).parents[2]
_SETUP = configparser.ConfigParser()
_SETUP.read(_ROOT / 'setup.cfg')
_VERSIONS = runpy.run_path(str(
    _ROOT / 'plugins/client/ironic_reservations_client/versions.py'))

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'oslo_policy.sphinxpolicygen',
]
project = 'ironic-reservations'
copyright = 'Apache License 2.0'
root_doc = 'index'
version = release = _SETUP['metadata']['version']
# The latest version of the API, on each page.
rst_epilog = f".. |LATEST| replace:: {_VERSIONS['LATEST']}\n"

# The theme asks git for these where it is not told.
openstackdocs_repo_name = 'openstack/ironic-reservations'
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_pdf_link = False
openstackdocs_use_storyboard = False

config_generator_config_file = [
    ('../../tools/config/ironic-reservations-config-generator.conf',
     '_static/ironic-reservations'),
]
policy_generator_config_file = [
    ('../../tools/config/ironic-reservations-policy-generator.conf',
     '_static/ironic-reservations'),
]

html_theme = 'openstackdocs'
html_theme_options = {
    # Readers are nobody's business.
    'analytics_tracking_code': '',
    'display_badge': False,
}
templates_path = ['_templates']
# The examples are programs; pages show parts of them.
exclude_patterns = ['_templates', 'examples']
