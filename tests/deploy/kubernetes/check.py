#!/usr/bin/env python3
"""Renders the manifests in deploy/kubernetes and the chart in deploy/helm, and checks what comes out.

    check.py    # from tests/deploy/kubernetes.sh, which installs what it needs

* `kubectl kustomize` reads every folder, and the chart is rendered with several values.
* Every object fits the published schema of its kind, with no field that is not in there.
* What an object names is there: pods of selectors, settings, claims, volumes, ports, and one image everywhere.
* The chart makes the same objects as `base` and `serve`, and each of its values changes something.
* Some manifests with mistakes are refused: else this would check nothing.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys

import yaml

import templates

ROOT = pathlib.Path(__file__).resolve().parents[3]
KUBERNETES = ROOT / "deploy" / "kubernetes"
CHART = ROOT / "deploy" / "helm" / "mangrove"
PAGE = ROOT / "docs" / "kubernetes.md"
MADE_BY_PEOPLE = {("Secret", "mangrove-join"), ("PersistentVolumeClaim", "mangrove-runs")}  # the invitation, the claim of a TrainJob

CHART_VALUES = {
    "defaults": {},
    "serve": {"serve": {"enabled": True}},
    "many": {"serve": {"enabled": True, "persistence": {"accessMode": "ReadWriteMany"}}},
    "all": {
        "image": {"repository": "registry.example.org/mangrove", "tag": "1", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "joinSecret": "other-join",
        "coordinator": {
            "persistence": {"size": 5368709120, "storageClassName": "fast"},
            "nodeSelector": {"kubernetes.io/hostname": "master"},
            "tolerations": [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}],
        },
        "node": {
            "settings": {"labels": "kind=pi4", "allow_path": ["/srv/photos"]},
            "maxUnavailable": "50%",
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]}]}}},
        },
        "serve": {
            "enabled": True,
            "replicas": 3,
            "arguments": ["--threads", "4"],
            "service": {"type": "LoadBalancer", "annotations": {"example.org/pool": "a"}},
            "persistence": {"existingClaim": "shared-models"},
            "resources": {"requests": {"cpu": 0.5}, "limits": {"memory": "2097152Ki"}},
        },
    },
}
MADE_BY_PEOPLE_FOR = {"chart with the values 'all'": {("Secret", "other-join"), ("PersistentVolumeClaim", "shared-models")}}


def objects_in(text):
    return [document for document in yaml.safe_load_all(text) if document]


def name_of(thing):
    return f"{thing.get('kind')}/{thing.get('metadata', {}).get('name')}"


def kustomized():
    """{folder: objects} of every folder that kubectl can read."""
    out = {}
    for file in sorted(KUBERNETES.rglob("kustomization.yaml")):
        folder = file.parent.relative_to(KUBERNETES)
        done = subprocess.run(["kubectl", "kustomize", file.parent], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{folder}: {done.stderr}")
        out[str(folder)] = objects_in(done.stdout)
    return out


def chart_objects(changes):
    return [thing for name, text in templates.render_chart(CHART, changes).items() if name.endswith(".yaml")
            for thing in objects_in(text)]


def examples():
    """The objects in blocks of the page."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [thing for block in blocks for thing in objects_in(block) if "apiVersion" in thing]


def errors_of_schemas(items):
    """Lines "source: what is wrong". items: {"source", "object"} or {"source", "value", "schema"}."""
    done = subprocess.run(["node", pathlib.Path(__file__).with_name("validate.mjs")], input=json.dumps(items),
                          capture_output=True, text=True, check=False)
    if done.stderr or done.returncode not in (0, 1):
        sys.exit(done.stderr or f"validate.mjs: status {done.returncode}")
    return done.stdout.splitlines()


def errors_of_references(source, objects):
    """Schemas do not see whether what is named is there."""
    errors = []
    templates_of = {}
    for thing in objects:
        for template in pod_templates(thing):
            templates_of.setdefault(name_of(thing), []).append(template)
    pods = [template for found in templates_of.values() for template in found]

    def selected(labels):
        return [pod for pod in pods if labels.items() <= pod.get("metadata", {}).get("labels", {}).items()]

    there = {(thing["kind"], thing["metadata"]["name"]) for thing in objects} | MADE_BY_PEOPLE | MADE_BY_PEOPLE_FOR.get(source, set())

    def has_port(pod, wanted):
        return any(wanted in (own["containerPort"], own.get("name")) for container in pod["spec"]["containers"]
                   for own in container.get("ports", []))

    def check(is_right, thing, what):
        if not is_right:
            errors.append(f"{source}: {name_of(thing)}: {what}")

    for thing in objects:
        spec = thing.get("spec", {})
        selector = {"Service": spec.get("selector"), "NetworkPolicy": spec.get("podSelector", {}).get("matchLabels")}.get(
            thing["kind"], spec.get("selector", {}).get("matchLabels") if isinstance(spec.get("selector"), dict) else None)
        if selector is not None:
            check(len(selected(selector)) == 1, thing, f"the selector {selector} does not have the pods of one object")
        for port in spec.get("ports", []) if thing["kind"] == "Service" and selector else []:
            for pod in selected(selector):
                wanted = port.get("targetPort", port["port"])
                check(has_port(pod, wanted), thing, f"no container has the port {wanted}")
        for port in [port for rule in spec.get("ingress", []) for port in rule["ports"]] if thing["kind"] == "NetworkPolicy" else []:
            check(all(has_port(pod, port["port"]) for pod in selected(selector)), thing, f"no container has the port {port['port']}")
        for template in templates_of.get(name_of(thing), []):
            claims = {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
            volumes = {volume["name"] for volume in template["spec"].get("volumes", [])} | claims
            used = set()
            for container in template["spec"]["containers"] + template["spec"].get("initContainers", []):
                used |= {mount["name"] for mount in container.get("volumeMounts", [])}
                for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                    port = container.get(probe, {}).get("httpGet", {}).get("port")
                    own = [name for known in container.get("ports", []) for name in known.values()]
                    check(port is None or port in own, thing, f"the {probe} asks at a port that is not there: {port}")
                variables = {variable["name"]: variable for variable in container.get("env", [])}
                wanted = {name for argument in container.get("args", []) for name in re.findall(r"\$\(([A-Z_]+)\)", argument)}
                check(wanted <= variables.keys(), thing, f"there are no variables {sorted(wanted - variables.keys())}")
                for name in wanted if source != "overlays/edge/tier" else ():  # where end, edge and cloud put the label
                    path = variables.get(name, {}).get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
                    label = re.fullmatch(r"metadata\.labels\['(.*)'\]", path)
                    check(not label or label[1] in template["metadata"]["labels"], thing, f"the pods have no label of {path}")
            check(used == volumes, thing, f"volumes that are not used, or not there: {sorted(used ^ volumes)}")
            for volume in template["spec"].get("volumes", []):
                for key, kind, field in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"),
                                         ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName")):
                    if key in volume:
                        check((kind, volume[key][field]) in there, thing, f"there is no {kind} {volume[key][field]}")
    return errors


def pod_templates(thing):
    """Also those that lie deeper, as in a runtime of Kubeflow."""
    if not isinstance(thing, dict):
        return []
    if isinstance(thing.get("spec"), dict) and "containers" in thing["spec"] and thing.get("kind") != "ServingRuntime":
        return [thing]
    found = []
    for key, value in thing.items():
        for inner in value if isinstance(value, list) else [value]:
            found += pod_templates(inner) if key != "volumeClaimTemplates" else []
    return found


def images_in(thing):
    if isinstance(thing, dict):
        own = [thing["image"]] if isinstance(thing.get("image"), str) else []
        return own + [image for value in thing.values() for image in images_in(value)]
    return [image for inner in thing for image in images_in(inner)] if isinstance(thing, list) else []


def comparable(objects):
    """{kind and name: object} without what has to differ between Kustomize and Helm."""
    out = {}
    for thing in copy.deepcopy(objects):
        if thing["kind"] == "Namespace":
            continue  # Helm is told its namespace
        thing["metadata"].pop("namespace", None)
        annotations = thing["metadata"].get("annotations", {})
        annotations.pop("helm.sh/resource-policy", None)
        if not annotations:
            thing["metadata"].pop("annotations", None)
        for template in pod_templates(thing):
            template["metadata"].get("annotations", {}).pop("mangrove/settings", None)  # in place of names with hashes
            if not template["metadata"].get("annotations"):
                template["metadata"].pop("annotations", None)
            for volume in template["spec"].get("volumes", []):
                if "configMap" in volume:
                    volume["configMap"]["name"] = without_hash(volume["configMap"]["name"])
        if thing["kind"] == "ConfigMap":
            thing["metadata"]["name"] = without_hash(thing["metadata"]["name"])
            thing["data"] = {key: yaml.safe_load(value) for key, value in thing["data"].items()}
        out[name_of(thing)] = thing
    return out


def without_hash(name):
    return re.sub(r"(settings)-[a-z0-9]{10}$", r"\1", name)


def differences(one, other, path=""):
    if isinstance(one, dict) and isinstance(other, dict):
        return [line for key in sorted(one.keys() | other.keys(), key=str)
                for line in differences(one.get(key), other.get(key), f"{path}/{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [line for i, pair in enumerate(zip(one, other)) for line in differences(*pair, f"{path}/{i}")]
    return [] if one == other else [f"{path}: {one!r} and {other!r}"]


def errors_of_chart(made):
    errors = [f"the chart and {'base' if name == 'defaults' else 'base with serve'}: {line}"
              for name, folders in (("defaults", ["base"]), ("serve", ["base", "serve"]))
              for line in differences(comparable(chart_objects(CHART_VALUES[name])),
                                      comparable([thing for folder in folders for thing in made[folder]]))]
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    before = templates.render_chart(CHART, CHART_VALUES["serve"])
    for path, value in leaves(values):
        changes = templates.merged(CHART_VALUES["serve"], nested(path, other_than(path, value)))
        if templates.render_chart(CHART, changes) == before:
            errors.append(f"the value {'.'.join(path)} of the chart changes nothing")
    return errors


def leaves(values, path=()):
    for key, value in values.items():
        if isinstance(value, dict) and value and key not in ("settings", "resources", "nodeSelector"):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def other_than(path, value):
    if path == ("serve", "enabled"):
        return False
    if isinstance(value, list):
        return [{"name": "other"}]
    if isinstance(value, dict):
        return {**value, "other": "1"}
    return value + 1 if isinstance(value, int) else value + "other"


def nested(path, value):
    return {path[0]: nested(path[1:], value) if len(path) > 1 else value}


def mistakes(made):
    """(what is wrong, object) that must be refused."""
    by_name = {name_of(thing): thing for folder in ("base", "serve", "kubeflow", "kserve") for thing in made[folder]}

    def changed(name, change):
        thing = copy.deepcopy(by_name[name])
        change(thing["spec"])
        return thing

    def container(spec):
        return spec["template"]["spec"]["containers"][0]

    yield "a misspelt field", changed("Deployment/mangrove-serve", lambda spec: container(spec).update(redinessProbe={}))
    yield "a field one level too high", changed("DaemonSet/mangrove-node", lambda spec: spec.update(maxUnavailable=1))
    yield "a wrong type", changed("StatefulSet/mangrove-coordinator", lambda spec: spec.update(replicas="1"))
    yield "no selector", changed("Deployment/mangrove-serve", lambda spec: spec.pop("selector"))
    yield "an unknown field of a container in Kubeflow's runtime", changed(
        "ClusterTrainingRuntime/mangrove",
        lambda spec: container(spec["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]).update(arguments=[]))
    yield "an unknown field of Kubeflow's runtime", changed(
        "ClusterTrainingRuntime/mangrove", lambda spec: spec["mlPolicy"].update(nodes=2))
    yield "a wrong type in KServe's runtime", changed(
        "ServingRuntime/mangrove", lambda spec: spec["containers"][0]["ports"][0].update(containerPort="8080"))


def errors_of_claims(source, objects):
    """Pods of a Deployment with a claim that is ReadWriteOnce must be on one board, as no other can mount it; else on several."""
    modes = {thing["metadata"]["name"]: thing["spec"]["accessModes"] for thing in objects if thing["kind"] == "PersistentVolumeClaim"}
    errors = []
    for thing in [thing for thing in objects if thing["kind"] == "Deployment"]:
        spec = thing["spec"]["template"]["spec"]
        claims = {volume["persistentVolumeClaim"]["claimName"] for volume in spec["volumes"] if "persistentVolumeClaim" in volume}
        is_for_one = [modes[claim] == ["ReadWriteOnce"] for claim in claims if claim in modes]
        # a term that does not fit the pods themselves could never be met by the first of them
        terms = [term["labelSelector"]["matchLabels"] == thing["spec"]["selector"]["matchLabels"]
                 and term["topologyKey"] == "kubernetes.io/hostname" for term in
                 spec.get("affinity", {}).get("podAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", [])]
        if not all(terms) or (is_for_one and any(is_for_one) != bool(terms)):
            errors.append(f"{source}: {name_of(thing)}: the affinity of its pods does not fit its claims")
    return errors


def errors_of_tools(made, schema):
    """The checks themselves: what is wrong must be seen."""
    errors = []
    for what, thing in mistakes(made):
        if not errors_of_schemas([{"source": what, "object": thing}]):
            errors.append(f"{what} was not refused")
    for values in ({"serve": {"replica": 2}}, {"serve": {"replicas": "2"}}, {"node": {"maxUnavailable": 0}},
                   {"serve": {"persistence": {"size": "512ki"}}}, {"node": {"resources": {"limits": {"memory": "1.Gi.2"}}}}):
        if not errors_of_schemas([{"source": "values", "value": values, "schema": schema}]):
            errors.append(f"values.schema.json takes {values}")
    for what, kind, change in (
            ("a Service without pods", "Service", lambda spec: spec["selector"].update({"app.kubernetes.io/name": "other"})),
            ("a NetworkPolicy with another port", "NetworkPolicy", lambda spec: spec["ingress"][0]["ports"][0].update(port=8080)),
            ("a claim that is not there", "Deployment",
             lambda spec: spec["template"]["spec"]["volumes"][0]["persistentVolumeClaim"].update(claimName="shared-models")),
            ("a claim with the name of a secret", "Deployment",
             lambda spec: spec["template"]["spec"]["volumes"][0]["persistentVolumeClaim"].update(claimName="mangrove-join"))):
        lost = copy.deepcopy(made["serve"])
        change(next(thing for thing in lost if thing["kind"] == kind)["spec"])
        if not errors_of_references("serve", lost):
            errors.append(f"{what} was not refused")
    nameless = copy.deepcopy(made["overlays/edge/end"])
    for thing in nameless:
        for template in pod_templates(thing):
            template["metadata"]["labels"].pop("mangrove/tier")
            thing["spec"]["selector"]["matchLabels"].pop("mangrove/tier")
        if thing["kind"] == "NetworkPolicy":
            thing["spec"]["podSelector"]["matchLabels"].pop("mangrove/tier")
    if not errors_of_references("overlays/edge/end", nameless):
        errors.append("a tier without a label was not refused")
    for what, change in (("no affinity", lambda spec: spec.pop("affinity")),
                         ("an affinity with other pods", lambda spec: spec["affinity"]["podAffinity"][
                             "requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]["matchLabels"].update(a="b"))):
        apart = copy.deepcopy(made["serve"])
        change(next(thing for thing in apart if thing["kind"] == "Deployment")["spec"]["template"]["spec"])
        if not errors_of_claims("serve", apart):
            errors.append(f"{what} of pods that share a claim was not refused")
    drifted = copy.deepcopy(made["base"])
    next(thing for thing in drifted if thing["kind"] == "DaemonSet")["spec"]["template"]["spec"]["hostNetwork"] = True
    if not errors_of_chart({**made, "base": drifted}):
        errors.append("a chart that is not as the base was not refused")
    for text in ("{{ include \"a\" . }}", "{{ .Values.serv }}", "{{- if .Values.serve }}", "{{ .Values.a | upper }}"):
        try:
            templates.render(text, {"": None, "Values": {"serve": True, "a": "b"}, "Chart": {}, "Release": {}})
            errors.append(f"the template {text} was rendered")
        except templates.TemplateError:
            pass
    return errors


def main():
    made = kustomized()
    charts = {f"chart with the values '{name}'": chart_objects(changes) for name, changes in CHART_VALUES.items()}
    all_objects = {**made, **charts}
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    items = [{"source": f"{source}: {name_of(thing)}", "object": thing}
             for source, objects in [*all_objects.items(), ("docs/kubernetes.md", examples())] for thing in objects]
    items += [{"source": f"values '{name}'", "value": templates.merged(values, changes), "schema": schema}
              for name, changes in CHART_VALUES.items()]
    errors = errors_of_schemas(items)
    # some folders are parts: coordinator, node and the tiers name no image of a registry
    parts = {"coordinator", "node", "overlays/edge/tier", "overlays/edge/end", "overlays/edge/edge", "overlays/edge/cloud"}
    for source, objects in all_objects.items():
        errors += errors_of_references(source, objects) + errors_of_claims(source, objects)
    version = subprocess.run([ROOT / "scripts" / "version.py"], capture_output=True, text=True, check=True).stdout.strip()
    for source, objects in all_objects.items():
        wanted = {"mangrove"} if source in parts else {f"localhost/mangrove:{version}"}
        if source != "chart with the values 'all'" and set(images_in(objects)) != wanted:
            errors.append(f"{source}: its images are {sorted(set(images_in(objects)))}, not {sorted(wanted)}")
    errors += errors_of_chart(made) + errors_of_tools(made, schema)
    for error in errors:
        print(error, file=sys.stderr)
    if errors:
        sys.exit(f"check.py: {len(errors)} mistakes")
    print(f"{len(made)} folders and {len(charts)} renderings of the chart, {len(items)} objects")


main()
