# SPDX-License-Identifier: Apache-2.0
#
# unpack_windows.py SPOOL FOLDER - makes a folder in FOLDER for each window of
# SPOOL, with meta.json and KIND.pb.gz.
import gzip
import json
import os
import re
import sys

spool, folder = sys.argv[1:]
os.mkdir(folder)
for name in os.listdir(spool):
    if not re.fullmatch(r'[0-9]+-[0-9]+', name):
        continue
    with open(f'{spool}/{name}', 'rb') as file:
        line, rest = file.read().split(b'\n', 1)
    meta = json.loads(line)
    os.mkdir(f'{folder}/{name}')
    with open(f'{folder}/{name}/meta.json', 'wb') as out:
        out.write(line)
    for row in meta['profiles']:
        profile, rest = rest[:row['bytes']], rest[row['bytes']:]
        # Only large profiles are gzipped.
        if profile[:2] == b'\x1f\x8b':
            assert len(gzip.decompress(profile)) > 8192, f'{name}: {row}'
        else:
            assert len(profile) <= 8192, f'{name}: {row}'
            profile = gzip.compress(profile, 1)
        with open(f'{folder}/{name}/{row["kind"]}.pb.gz', 'xb') as out:
            out.write(profile)
    assert not rest, f'{name}: {len(rest)} more bytes'
