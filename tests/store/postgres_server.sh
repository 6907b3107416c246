#!/bin/sh
# Runs a PostgreSQL server in a new directory as long as stdin is open. Prints the directory, which
# contains its socket, once the server is reachable. It ends with the process that started it,
# however that ends.
set -eu

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || { echo "postgres_server.sh: package postgresql is missing" >&2; exit 1; }
directory=$(mktemp -d /tmp/caisson-postgres.XXXXXX)
as=
if [ "$(id -u)" = 0 ]; then
  chown postgres "$directory"
  as="runuser -u postgres --"
fi
stop() {
  $as "$bin/pg_ctl" -D "$directory/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$directory"
}
trap stop EXIT INT TERM HUP

cd "$directory"
$as "$bin/initdb" -D "$directory/data" -U caisson --auth=trust --encoding=UTF8 --no-locale --no-sync >/dev/null
# It need not survive a power cut, so it runs without fsync; it listens only on a socket.
$as "$bin/pg_ctl" -D "$directory/data" -l "$directory/log" -w -t 60 \
  -o "-F -c listen_addresses='' -k $directory -c max_connections=200" start >/dev/null </dev/null
echo "$directory"
cat >/dev/null
