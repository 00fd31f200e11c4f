#!/bin/sh
# Creates the namespace, those of owners in OWNER_NAMESPACES, and Tenure's search attributes on the server at
# TEMPORAL_ADDRESS. Safe to repeat.
set -eu

# A server that has just started answers a little later than its port opens, and a new namespace is known
# to all of its parts only after some seconds.
patiently() {
    attempt=1
    until "$@"; do
        [ "$attempt" -lt 30 ] || return 1
        attempt=$((attempt + 1))
        sleep 2
    done
}

patiently temporal operator cluster health

for namespace in "${TEMPORAL_NAMESPACE:-default}" ${OWNER_NAMESPACES:-}; do
    if ! temporal operator namespace describe --namespace "$namespace" >/dev/null 2>&1; then
        temporal operator namespace create --namespace "$namespace" --retention 720h
    fi

    # One at a time: of several names in one call, the command line registers the first and says nothing.
    for name in TenureMode TenurePhase TenureStatus TenureOwner; do
        patiently temporal operator search-attribute create --namespace "$namespace" --name "$name" --type Keyword
    done
done
