#!/usr/bin/env bash
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

# Put the one library of the calendar's page into the tree, from its npm
# package, and check it: ./tools/vendor.sh
#
# To take a later version: change the three lines below, and index.html, which
# names the files; the script prints the new checksum where the old one is not
# that of the package.

set -euo pipefail

NAME=uplot
VERSION=1.6.32
SHA256=4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d

cd "$(dirname "${BASH_SOURCE[0]}")/../ironic_reservations/features/calendar/static/vendor"
command -v npm >/dev/null || { echo "npm is needed." >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm pack --silent --pack-destination "$folder" "$NAME@$VERSION" >/dev/null
package="$folder/$NAME-$VERSION.tgz"
found=$(sha256sum "$package" | cut -d ' ' -f 1)
if [ "$found" != "$SHA256" ]; then
    echo "$NAME $VERSION has the checksum $found, not $SHA256." >&2
    exit 1
fi
tar -xzf "$package" -C "$folder"
rm -f ./*
cp "$folder/package/dist/uPlot.iife.min.js" "$NAME-$VERSION.min.js"
cp "$folder/package/dist/uPlot.min.css" "$NAME-$VERSION.min.css"
cp "$folder/package/LICENSE" "$NAME-$VERSION.LICENSE"
sha256sum "$NAME-$VERSION".* > SHA256SUMS
echo "$NAME $VERSION is in $PWD"
