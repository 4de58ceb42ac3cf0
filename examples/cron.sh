#!/bin/sh
# Five crons start the same job at the same moment; one runs it, and the others say who did.
#
# Needs `conclave` in the PATH, or its path in $CONCLAVE. Exits with 0 if the job ran once and
# everybody was content, with 1 if not.

set -eu

conclave=${CONCLAVE:-conclave}
if [ $# -ne 0 ]; then
    echo "cron.sh: takes no arguments; \$CONCLAVE may say where conclave is" >&2
    exit 64
fi
if ! command -v "$conclave" >/dev/null; then
    echo "cron.sh: cannot find $conclave; cargo install --path crates/cli, or set CONCLAVE" >&2
    exit 69
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# All who want to exclude each other use the same directory. In a crontab it is the user's own.
CONCLAVE_AT=local:$stage/locks
export CONCLAVE_AT

# It takes a while, so that the others come while it runs.
cat >"$stage/job.sh" <<'JOB'
#!/bin/sh
sleep 0.2
echo "ran it, with fence $CONCLAVE_FENCE"
JOB
chmod +x "$stage/job.sh"

# What each crontab would have, but for the label: here all are on one host.
cron() {
    "$conclave" lock --once 1h --label "cron-$1" nightly -- "$stage/job.sh"
}

for number in 1 2 3 4 5; do
    (
        code=0
        cron "$number" >"$stage/said-$number" 2>&1 || code=$?
        echo "$code" >"$stage/code-$number"
    ) &
done
wait

runs=0
failures=0
for number in 1 2 3 4 5; do
    said=$(cat "$stage/said-$number")
    code=$(cat "$stage/code-$number")
    echo "cron-$number: $said (exit $code)"
    case $said in *"ran it"*) runs=$((runs + 1)) ;; esac
    [ "$code" -eq 0 ] || failures=$((failures + 1))
done
echo "5 crons, $runs ran the job, $failures failed"
[ "$runs" -eq 1 ] && [ "$failures" -eq 0 ]
