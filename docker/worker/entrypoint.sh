#!/bin/sh
# The database's password comes from a file and goes into another one that libpq reads (PGPASSFILE), for this process
# and for `docker exec` alike. So it stands in no environment, which `docker inspect` would show.
set -eu
if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then
    umask 077
    printf '*:*:*:*:%s\n' "$(sed 's/[\\:]/\\&/g' "$POSTGRES_PASSWORD_FILE")" > "$PGPASSFILE"
fi
exec "$@"
