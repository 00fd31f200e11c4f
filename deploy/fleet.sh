#!/bin/sh
# Start a fleet on one machine, to try it: a Temporal server, an S3-compatible object store in memory, and three workers
# on different queues with homes of their own. It prints the variables for a client, and ends all of it with Ctrl-C.
#
#   sh deploy/fleet.sh FOLDER DOCUMENTS
#
# The environment of the project has to be active, with its development packages. Ports: PORT and PORT + 1.
set -eu

folder="${1:?name a new folder for logs and homes}"
documents="$(cd "${2:?name the folder of documents}" && pwd)"
port="${PORT:-7333}"
cd "$(dirname "$0")/.."
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
started=""
trap 'kill $started 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM

begin() {
    log="$folder/$1.log"
    shift
    "$@" >"$log" 2>&1 &
    started="$started $!"
}

until_line() {
    until grep -q "$2" "$folder/$1.log"; do sleep 0.2; done
}

begin temporal temporal server start-dev --port "$port" --ui-port "$((port + 1))" --log-level error \
    --db-filename "$folder/temporal.db" \
    --search-attribute TenureMode=Keyword --search-attribute TenurePhase=Keyword \
    --search-attribute TenureStatus=Keyword --search-attribute TenureOwner=Keyword
begin objects python -W ignore -m tests.knowledge.object_store fleet
until_line objects '^[0-9]'
until_line temporal 'Temporal Server:'

export TEMPORAL_ADDRESS="127.0.0.1:$port" TENURE_FILES_URI=s3://fleet/files
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_REGION=us-east-1
export AWS_ENDPOINT_URL="http://127.0.0.1:$(head -n 1 "$folder/objects.log")"

others="$(python -c 'from workflows.runtime.task_queues import ALL_QUEUES, MODEL_QUEUE, SANDBOX_QUEUE
print(",".join(name for name in ALL_QUEUES if name not in (MODEL_QUEUE, SANDBOX_QUEUE)))')"
begin knowledge env TENURE_HOME="$folder/knowledge" TENURE_LANCEDB_URI=s3://fleet/knowledge \
    TENURE_DOCUMENT_ROOTS="$documents" python worker.py --queues "$others"
begin model env TENURE_HOME="$folder/model" TENURE_LANCEDB_URI=s3://fleet/knowledge python worker.py --queues tenure-model
begin programs env -u OPENAI_API_KEY TENURE_HOME="$folder/programs" python worker.py --queues tenure-sandbox
for name in knowledge model programs; do until_line "$name" 'worker is serving'; done

echo "the fleet runs; a client needs these variables:"
for name in TEMPORAL_ADDRESS TENURE_FILES_URI AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION AWS_ENDPOINT_URL; do
    echo "export $name=$(printenv "$name")"
done
echo "export TENURE_HOME=$folder/client"
wait
