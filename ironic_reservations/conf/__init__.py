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

"""The configuration, apart from the global one, which belongs to Ironic."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from importlib import metadata
import os
import pathlib

from oslo_config import cfg
from oslo_log import log

from ironic_reservations.conf import environment
from ironic_reservations.conf import ignored
from ironic_reservations.conf import leases
from ironic_reservations.conf import opts
from ironic_reservations.conf import values

LOG = log.getLogger(__name__)

PROJECT = 'ironic-reservations'
#: The file that is read if oslo.config finds none.
BESIDE_IRONIC = f'/etc/ironic/{PROJECT}.conf'
#: This variable names the configuration file if there is no command line.
FILE_VARIABLE = 'OS_IRONIC_RESERVATIONS_CONFIG_FILE'


def load(args: Sequence[str] = (),
         config_files: Sequence[str] | None = None,
         prog: str | None = None,
         cli_opts: Sequence[cfg.Opt] = (),
         with_logging: bool = False,
         warn: Callable[[str], None] = LOG.warning) -> cfg.ConfigOpts:
    """Read the configuration into an object that is not shared.

    :param args: the command line without the program's name.
    :param config_files: the files to read instead of the usual ones; by
        default the file that ``OS_IRONIC_RESERVATIONS_CONFIG_FILE`` names,
        else ``ironic-reservations.conf`` in the folders of oslo.config, else
        in that of Ironic.
    :param prog: the name of the program, for its help.
    :param cli_opts: further options of the command line.
    :param with_logging: whether this process sets up logging; a process of
        Ironic never does.
    :param warn: called with a sentence for each variable of the environment
        that seems to set an option but does not.
    :raises oslo_config.cfg.Error: a file or a value is not valid.
    """
    conf = environment.OwnConfigOpts()
    opts.register(conf)
    conf.register_cli_opts(cli_opts)
    if with_logging:
        log.register_options(conf)
    if config_files is None:
        config_files = _files()
    try:
        conf(args=list(args), project=PROJECT, prog=prog or PROJECT,
             version=release(),
             default_config_files=(None if config_files is None
                                   else list(config_files)))
    except UnicodeDecodeError as exc:
        raise cfg.ConfigFileParseError(
            _not_in_utf_8((*(each.rpartition('=')[2] for each in args),
                           *(config_files or cfg.find_config_files(PROJECT)))),
            f'it is not in UTF-8: {exc.reason} at {exc.object[exc.start]:#x}'
        ) from exc
    values.check(conf)
    leases.check(conf)
    if with_logging:
        try:
            log.setup(conf, PROJECT)
        except (OSError, ValueError, log.LogConfigError) as exc:
            raise cfg.ConfigFileValueError(
                f'The log cannot be written: {exc}. Check log_dir, log_file, '
                'log_config_append and default_log_levels in [DEFAULT].'
            ) from exc
    for sentence in ignored.variables(conf):
        warn(sentence)
    return conf


def _not_in_utf_8(candidates: Iterable[str]) -> str:
    """Return the first file that cannot be decoded."""
    for file in candidates:
        try:
            pathlib.Path(file).read_text('utf-8')
        except UnicodeDecodeError:
            return file
        except OSError:
            continue
    return 'a file of the configuration folder'


def release() -> str:
    """Return the version of the installed package."""
    try:
        return metadata.version(PROJECT)
    except metadata.PackageNotFoundError:
        return 'not installed'


def _files() -> list[str] | None:
    """Return the files to read; ``None``: oslo.config has to find them."""
    named = os.environ.get(FILE_VARIABLE)
    if named:
        return [named]
    if not cfg.find_config_files(PROJECT) and os.path.isfile(BESIDE_IRONIC):
        return [BESIDE_IRONIC]
    return None
