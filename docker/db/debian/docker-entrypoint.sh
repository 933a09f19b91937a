#!/bin/bash
# The part of the official image's entrypoint that rag_pg relies on. Data that is there is used as it is.
set -euo pipefail

if [ "${1#-}" != "$1" ]; then set -- postgres "$@"; fi
if [ "$1" != postgres ]; then exec "$@"; fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    user=${POSTGRES_USER:-postgres}
    database=${POSTGRES_DB:-$user}
    password=${POSTGRES_PASSWORD:-}
    if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then password=$(cat "$POSTGRES_PASSWORD_FILE"); fi
    if [ -z "$password" ]; then
        echo "a new database needs POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE" >&2
        exit 1
    fi
    initdb --username="$user" --pwfile=<(printf '%s\n' "$password") --encoding=UTF8 \
        --locale-provider=builtin --builtin-locale=C.UTF-8 --locale=C.UTF-8 \
        --auth-local=trust --auth-host=scram-sha-256
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    # Listens on its socket only, so that nobody meets it before it is ready.
    pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
    if [ "$database" != postgres ]; then
        psql -v ON_ERROR_STOP=1 -X -U "$user" -d postgres -v database="$database" \
            <<< 'CREATE DATABASE :"database"'
    fi
    for file in /docker-entrypoint-initdb.d/*; do
        case "$file" in
            *.sh) . "$file" ;;
            *.sql) psql -v ON_ERROR_STOP=1 -X -U "$user" -d "$database" -f "$file" ;;
            *.sql.gz) gunzip -c "$file" | psql -v ON_ERROR_STOP=1 -X -U "$user" -d "$database" ;;
        esac
    done
    pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@" -c listen_addresses='*'
