#!/usr/bin/env python3
"""test_hostile.py - programs of strangers end in time and in the right way.

Use: ATLED=build/atled tests/cli/test_hostile.py [--only WORD] [--every N]

Each program of hostile_programs.py must end with its status within twice its
time limit: SECONDS where the limit may be what ends it, else ENOUGH. --every
runs each N-th program. The last line is "N passed, N failed".
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time

from hostile_programs import LIMIT, programs

ATLED = os.path.abspath(os.environ.get('ATLED', 'build/atled'))
SECONDS, ENOUGH = 0.5, 20
# Starting, reading the text and ending, beside other tests.
SLACK = 3.0 * float(os.environ.get('ATLED_PACE', '100')) / 100
SLOWER = {'check': 1, 'asan': 6, 'polls': 6}.get(os.environ.get('ATLED_KIND', 'check'), 15)


def run(name, text, statuses, options, shell):
    limit = (SECONDS if LIMIT in statuses else ENOUGH) * SLOWER
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'program.dsl')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        command = [ATLED, f'--time-limit={limit}', *options, path]
        if shell:
            command = ['bash', '-c', shell + 'exec "$@"', 'bash', *command]
        begin = time.monotonic()
        try:
            got = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 timeout=60 * SLOWER, check=False)
            status, said = got.returncode, got.stderr[-200:].decode(errors='replace')
        except subprocess.TimeoutExpired:
            status, said = None, 'it does not end'
        took = time.monotonic() - begin
    if status not in statuses:
        return f'status {status}, not {" or ".join(map(str, statuses))}: {said}'
    if took > 2 * limit + SLACK * SLOWER:
        return f'{took:.2f} s with a limit of {limit} s'
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument('--only', default='')
    options.add_argument('--every', type=int, default=1)
    options.add_argument('--jobs', type=int, default=os.cpu_count())
    o = options.parse_args()
    chosen = [p for k, p in enumerate(programs) if o.only in p[0] and k % o.every == 0]
    passed, failed = 0, 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for p, why in zip(chosen, pool.map(lambda p: run(*p), chosen)):
            if why:
                failed += 1
                print(f'failed: {p[0]}: {why}', flush=True)
            else:
                passed += 1
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
