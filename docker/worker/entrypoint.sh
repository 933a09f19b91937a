#!/bin/sh
# The database's password comes from a file, so that it stands in no environment that `docker inspect` shows.
set -eu
if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then
    PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export PGPASSWORD
fi
exec "$@"
