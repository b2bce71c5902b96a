#!/usr/bin/env bash
# Builds the image of scripts/container.sh, and runs the pods of deploy/kubernetes/overlays/kcs with podman: a
# coordinator and five nodes, each with a read-only root file system, limits and volumes of its own. They train; a node
# is killed while they do, is started again by its restart policy, and takes part again under its name. Then servers
# answer for the network while they get another image one after the other. Root only.
#
#   tests/deploy/container.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
[ "$(id -u)" = 0 ] || { echo "container.sh: only root can make a root file system" >&2; exit 1; }
network=mangrove-test-$$
boards=(worker-1 worker-2 worker-3 worker-4 worker-5)
servers=(serve-1 serve-2 serve-3 serve-4)  # two, and two in their place
work=$(mktemp -d)
played=()  # pods that were begun
fail() { echo "container.sh: $*" >&2; exit 1; }
step() { echo "-- $*"; }

# a machine without systemd has neither its cgroups nor its journal; the limits are those that root has here
cat > "$work/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
END
export CONTAINERS_CONF=$work/containers.conf
clean() {
  status=$?
  [ $status = 0 ] || for name in "${played[@]}"; do
    echo "== $name =="
    podman logs --tail 20 "$(container "$name")" || true
  done >&2
  podman rm -f --ignore kubeflow-0 kubeflow-1 > "$work/clean.log" 2>&1 || true
  [ ${#played[@]} = 0 ] || podman pod rm -f "${played[@]}" >> "$work/clean.log" 2>&1 || true
  # podman keeps settings as volumes
  sed -n 's/^  name: \(mangrove-.*settings-.*\)/\1/p' "$work/kcs.yaml" | xargs -r podman volume rm >> "$work/clean.log" 2>&1 || true
  podman network rm "$network" >> "$work/clean.log" 2>&1 || true
  podman untag localhost/mangrove:next localhost/mangrove:next >> "$work/clean.log" 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT
container() {  # POD: its main container
  case $1 in
    coordinator) echo coordinator-coordinator ;;
    serve-*) echo "$1-serve" ;;
    *) echo "$1-node" ;;
  esac
}
inside() { podman exec "$(container "$1")" mangrove "${@:2}"; }  # POD ARGUMENT...
nodes() { inside coordinator nodes --coordinator "$address:7070" --json 2> "$work/nodes.log"; }
wait_for() {  # SECONDS COMMAND...: until the command succeeds
  for _ in $(seq $((5 * $1))); do
    "${@:2}" > "$work/wait.log" 2>&1 && return
    sleep 0.2  # between two looks
  done
  cat "$work/wait.log" >&2
  fail "did not come true: ${*:2}"
}

step "a base of Debian 12, where no registry is reached"
if ! podman image exists localhost/debian:12-slim; then
  debootstrap --variant=minbase bookworm "$work/debian" > "$work/debootstrap.log" || { tail "$work/debootstrap.log" >&2; exit 1; }
  tar -C "$work/debian" --exclude='./usr/share/locale/*' --exclude='./usr/share/man/*' --exclude='./var/cache/apt/*' \
    --exclude='./var/lib/apt/lists/*' -c . | podman import - localhost/debian:12-slim > /dev/null
  rm -rf "$work/debian"
fi

step "the image"
scripts/container.sh --base localhost/debian:12-slim > "$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2; exit 1; }
tail -n 1 "$work/build.log"
image=$(sed -n 's/^\(mangrove:[^ ]*\): .*/\1/p' "$work/build.log")
[ "$(podman image inspect --format '{{.User}}' "$image")" = 7070:7070 ] || fail "the image runs as root"

step "a coordinator"
podman network create "$network" > /dev/null
address=$(podman network inspect --format '{{range .Subnets}}{{.Subnet}}{{end}}' "$network" | sed 's|\.0/.*|.10|')
pods=$work/pods
mkdir "$pods"
kubectl kustomize deploy/kubernetes/overlays/kcs 2> "$work/kustomize.log" > "$work/kcs.yaml"
python3 tests/deploy/pods.py "$pods" --address "$address" "${boards[@]/#/--board=}" "${servers[@]/#/--server=}" < "$work/kcs.yaml"
chown 7070:7070 "$pods"/coordinator-state
play() {  # POD [ADDRESS]
  played+=("$1")
  podman kube play --network "$network" ${2:+--ip "$2"} "$pods/$1.yaml" > "$work/$1.log" 2>&1 && return
  cat "$work/$1.log" >&2
  fail "$1 was not started"
}
play coordinator "$address"
wait_for 30 inside coordinator health --ready

step "five nodes"
inside coordinator invite --role node --uses 5 --coordinator "$address:7070" > "$pods/mangrove-join/node.join" 2> "$work/invite.log"
chown -R 7070:7070 "$pods/mangrove-join"
chmod 440 "$pods/mangrove-join/node.join"
for board in "${boards[@]}"; do play "$board"; done
for board in "${boards[@]}"; do wait_for 60 inside "$board" health --ready; done
if podman exec worker-1-node /bin/sh -c 'touch /usr/bin/new' 2> "$work/touch.log"; then fail "the root file system can be written"; fi
limit=$(nodes | python3 -c 'import json, sys; print({n["memory_bytes"] for n in json.load(sys.stdin)["nodes"]})')
[ "$limit" = "{$((768 * 1024 * 1024))}" ] || fail "the memory of the boards is $limit, not their limit"

step "a training, while a node is killed"
run=/var/lib/mangrove/run
inside coordinator train --coordinator "$address:7070" --model lenet --data glyphs --limit 4000 --epochs 12 --nodes 5 \
  --run-dir "$run" --quiet > "$work/train.log" 2>&1 &
training=$!
has_begun() { [ "$(wc -l < "$pods/coordinator-state/run/metrics.jsonl")" -ge 2 ]; }
wait_for 60 has_begun
victim=$(podman inspect --format '{{.State.Pid}}' worker-3-node)
[ "$victim" -gt 1 ] || fail "worker-3 does not run"
kill -KILL "$victim"
is_again_there() { [ "$(podman inspect --format '{{.State.Pid}}' worker-3-node)" != "$victim" ] && inside worker-3 health --ready; }
wait_for 60 is_again_there
has_come_back() { grep -q '"event":"node_joined"' "$pods/coordinator-state/run/metrics.jsonl"; }
wait_for 60 has_come_back
kill -0 "$training" 2> /dev/null || fail "the training had ended before: it shows nothing"
wait "$training" || { cat "$work/train.log" >&2; fail "the training ended with status $?"; }
[ -s "$pods/coordinator-state/run/model.onnx" ] || fail "no model was trained"
names=$(nodes | python3 -c '
import json, sys
print(" ".join(sorted(node["name"] for node in json.load(sys.stdin)["nodes"] if node["state"] == "alive")))')
[ "$names" = "${boards[*]}" ] || fail "after the restart there are $names"

step "inference over five boards"
inside coordinator infer --coordinator "$address:7070" --model "$run/model.onnx" --data glyphs --stages 5 --nodes 5 --quiet \
  > "$work/infer.log" 2>&1 || { cat "$work/infer.log" >&2; fail "inference failed"; }

step "servers, and a rolling update while they are asked"
podman tag "$image" localhost/mangrove:next
sed -i 's|image: localhost/mangrove:.*|image: localhost/mangrove:next|' "$pods/serve-3.yaml" "$pods/serve-4.yaml"
mkdir -p "$pods/mangrove-models/digits/1"
server() { echo "${address%.*}.2${1#serve-}"; }  # POD: its address
is_serving() { curl -sf "http://$(server "$1"):8000/v2/health/ready"; }
tell() { echo "$*" >&"${load[1]}" && read -r -u "${load[0]}" && [ "$REPLY" = ok ]; }  # to the clients
before_stop() { python3 -c '
import sys, yaml
(owner,) = [thing for thing in yaml.safe_load_all(sys.stdin) if thing["kind"] == "Deployment"]
print("\n".join(owner["spec"]["template"]["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]))' < "$work/kcs.yaml"; }
mapfile -t before_stop < <(before_stop)
play serve-1 "$(server serve-1)" &
waits=$!
played+=(serve-1)  # the other shell has noted it for itself
is_waiting() { podman ps --format '{{.Names}}' | grep -q '^serve-1-wait-for-model$'; }
wait_for 30 is_waiting
install -m 644 "$pods/coordinator-state/run/model.onnx" "$pods/mangrove-models/digits/1/model.onnx"
wait "$waits"
play serve-2 "$(server serve-2)"
for pod in serve-1 serve-2; do wait_for 30 is_serving "$pod"; done
coproc load { exec python3 tests/deploy/load.py digits 2> "$work/load.log"; }
asking=$!
for pod in serve-1 serve-2; do tell add "$(server "$pod"):8000"; done
for number in 1 2; do
  old=serve-$number new=serve-$((number + 2))
  play "$new" "$(server "$new")"
  wait_for 30 is_serving "$new"
  tell add "$(server "$new"):8000"
  tell remove "$(server "$old"):8000"
  podman exec "$(container "$old")" "${before_stop[@]}"
  podman stop --time 20 "$(container "$old")" > /dev/null 2>&1
  status=$(podman inspect --format '{{.State.ExitCode}}' "$(container "$old")")
  [ "$status" = 0 ] || fail "$old ended with status $status"
done
[ "$(podman inspect --format '{{.ImageName}}' serve-3-serve)" = localhost/mangrove:next ] || fail "serve-3 has the old image"
echo end >&"${load[1]}"
read -r -u "${load[0]}" answered
wait "$asking" || { cat "$work/load.log" >&2; fail "$answered"; }
echo "$answered"

step "a training in two pods, as Kubeflow runs it"
kubectl kustomize deploy/kubernetes/kubeflow 2> "$work/kustomize.log" | python3 -c '
import sys, yaml
job = yaml.safe_load(sys.stdin)["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
print(job["template"]["spec"]["containers"][0]["command"][2], end="")' > "$work/kubeflow.sh"
train_in() {  # INDEX: what the pod with this index does
  podman run --rm --name "kubeflow-$1" --network "$network" --ip "${address%.*}.3$1" --read-only --no-healthcheck --tmpfs /runs \
    --add-host "digits-node-0-0.digits:${address%.*}.30" --env JOBSET=digits --env NODES=2 --env JOB_COMPLETION_INDEX="$1" \
    --entrypoint /bin/sh "$image" -c "$(cat "$work/kubeflow.sh")" train --model mlp --data glyphs --limit 500 > "$work/kubeflow-$1.log" 2>&1
}
train_in 1 &
other=$!
train_in 0 || { cat "$work"/kubeflow-?.log >&2; fail "the training ended with status $?"; }
grep -q "2 workers" "$work/kubeflow-0.log" || fail "two pods did not train: $(cat "$work/kubeflow-0.log")"
podman stop --time 20 kubeflow-1 > /dev/null
wait "$other" || { cat "$work/kubeflow-1.log" >&2; fail "the other pod ended with status $?"; }

step "the end"
for name in serve-3 worker-1 coordinator; do
  podman stop --time 30 "$(container "$name")" > /dev/null 2>&1
  status=$(podman inspect --format '{{.State.ExitCode}}' "$(container "$name")")
  [ "$status" = 0 ] || fail "$name ended with status $status"
done
echo "built, started, trained, healed, inferred, served and stopped"
