#!/usr/bin/env python3
"""Turns the manifests for Kubernetes into pods that `podman kube play` runs on one machine.

    kubectl kustomize deploy/kubernetes/overlays/kcs | pods.py FOLDER --address IP --board worker-1 --server serve-1

Writes FOLDER/coordinator.yaml, FOLDER/BOARD.yaml and FOLDER/SERVER.yaml. The templates of the pods stay as they are but
for what podman 4.3 lacks:

* a StatefulSet, a DaemonSet or a Deployment becomes pods;
* a claim, a folder of a board and the secret with the join string become folders below FOLDER; pods share a claim;
* temporary folders get the name of their pod;
* the name of a service becomes a line of /etc/hosts;
* there are no probes other than liveness, and nothing is done before a pod is stopped;
* ports are left out, since podman would open them on the machine.
"""

import argparse
import pathlib
import sys

import yaml

# by default podman removes a container that prepares a pod once it has ended, and fails where it looks too early
ALWAYS_INIT = {"io.podman.annotations.init.container.type": "always"}


def pod(template, name, folder, board, address, claims):
    """The pod of this name of a template; board: what a field reference to the node means."""
    spec = template["spec"]
    for key in ("nodeSelector", "affinity", "automountServiceAccountToken"):
        spec.pop(key, None)
    spec["restartPolicy"] = "Always"
    spec["hostAliases"] = [{"ip": address, "hostnames": ["mangrove-coordinator"]}]
    for container in spec.get("initContainers", []) + spec["containers"]:
        for key in ("startupProbe", "readinessProbe", "lifecycle", "ports"):
            container.pop(key, None)
        for variable in container.get("env", []):
            reference = variable.pop("valueFrom", None)
            if reference is None:
                continue
            if reference != {"fieldRef": {"fieldPath": "spec.nodeName"}}:
                sys.exit(f"pods.py: {name}: unknown reference {reference}")
            variable["value"] = board
        # podman does not put variables into arguments
        for variable in container.get("env", []):
            container["args"] = [argument.replace(f"$({variable['name']})", variable["value"])
                                 for argument in container.get("args", [])]
    for volume in spec["volumes"] + [{"name": claim, "persistentVolumeClaim": {}} for claim in claims]:
        if "emptyDir" in volume:
            # podman would share it with all pods that have one of this name
            renamed = f"{name}-{volume['name']}"
            for container in spec["containers"]:
                for mount in container["volumeMounts"]:
                    mount["name"] = renamed if mount["name"] == volume["name"] else mount["name"]
            volume["name"] = renamed
            continue
        if "secret" in volume:
            path = folder / volume.pop("secret")["secretName"]
        elif "persistentVolumeClaim" in volume or "hostPath" in volume:
            claim = volume.pop("persistentVolumeClaim", {}).get("claimName")
            path = folder / (claim or f"{name}-{volume['name']}")
        else:
            continue
        path.mkdir(exist_ok=True)
        volume["hostPath"] = {"path": str(path), "type": "Directory"}
        if volume not in spec["volumes"]:
            spec["volumes"].append(volume)
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": template["metadata"]["labels"], "annotations": ALWAYS_INIT}, "spec": spec}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--address", required=True, help="of the coordinator")
    parser.add_argument("--board", action="append", default=[], help="name of a board")
    parser.add_argument("--server", action="append", default=[], help="name of a server")
    options = parser.parse_args()
    text = sys.stdin.read()
    kinds = {"coordinator": "StatefulSet"} | dict.fromkeys(options.board, "DaemonSet") | dict.fromkeys(options.server, "Deployment")
    for name, kind in kinds.items():
        documents = list(yaml.safe_load_all(text))
        (owner,) = [document for document in documents if document["kind"] == kind]
        claims = [claim["metadata"]["name"] for claim in owner["spec"].get("volumeClaimTemplates", [])]
        made = [document for document in documents if document["kind"] == "ConfigMap"]
        made.append(pod(owner["spec"]["template"], name, options.folder, name, options.address, claims))
        (options.folder / f"{name}.yaml").write_text(yaml.safe_dump_all(made))


main()
