#!/bin/sh
# Starts the page as a service, in the container of the Dockerfile or without one. All of it is set by the
# environment (docs/operations.md); options that are given are passed on to `coombs serve`.
set -eu
set -f

for name in ${COOMBS_HOSTS:-}; do set -- "$@" --allow-host "$name"; done
for address in ${COOMBS_PROXIES:-}; do set -- "$@" --proxy "$address"; done
for network in ${COOMBS_METRICS_FROM:-}; do set -- "$@" --metrics-from "$network"; done
for origin in ${COOMBS_EMBED_ORIGINS:-}; do set -- "$@" --embed-origin "$origin"; done
if [ -n "${COOMBS_TOKEN_FILE:-}" ]; then set -- "$@" --token-file "$COOMBS_TOKEN_FILE"; fi

exec coombs serve --no-browser --log json --access-log \
    --host "${COOMBS_HOST:-0.0.0.0}" \
    --port "${COOMBS_PORT:-8000}" \
    --workers "${COOMBS_WORKERS:-2}" \
    "$@"
