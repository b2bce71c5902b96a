"""Renders the chart in deploy/helm without Helm.

The templates of the chart are written in a small part of Helm's language: comments; `if`, `if not` and `with`, `else` and
`end`; fields of .Values, .Chart and .Release, and texts in quotes; pipelines of the functions below. What is not in this
part is an error here, and so is a value that values.yaml does not have.
"""

import copy
import hashlib
import json
import re

import yaml

TAG = re.compile(r"\{\{(- )?(.*?)( -)?\}\}", re.DOTALL)
WORD = re.compile(r'"[^"\\]*"|[^\s"|]+|\|')


class TemplateError(Exception):
    pass


def to_yaml(value):
    return yaml.safe_dump(value, default_flow_style=False, sort_keys=True, width=10000).rstrip("\n")


def nindent(width, text):
    return "\n" + "\n".join(" " * int(width) + line for line in text.split("\n"))


FUNCTIONS = {
    "toYaml": to_yaml,
    "toJson": lambda value: json.dumps(value, sort_keys=True, separators=(",", ":")),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "quote": json.dumps,
    "nindent": nindent,
    "default": lambda other, value: value or other,
    "not": lambda value: not value,
    "eq": lambda one, other: one == other,
}


def evaluate(expression, scope):
    """What comes out of a pipeline; scope: {"": what the dot is, "Values": ..., "Chart": ..., "Release": ...}."""
    words = WORD.findall(expression)
    if "".join(words) != re.sub(r'("[^"]*")|\s', lambda match: match[1] or "", expression):
        raise TemplateError(f"unknown expression '{expression}'")
    last = []
    while True:
        end = words.index("|") if "|" in words else len(words)
        last = [call(words[:end], last, scope)]
        if end == len(words):
            return last[0]
        words = words[end + 1:]


def call(words, last, scope):
    if words and words[0] in FUNCTIONS:
        return FUNCTIONS[words[0]](*[term(word, scope) for word in words[1:]], *last)
    if len(words) != 1 or last:
        raise TemplateError(f"unknown expression '{' '.join(words)}'")
    return term(words[0], scope)


def term(word, scope):
    if word.startswith('"'):
        return word[1:-1]
    if word.isdigit():
        return int(word)
    if word == ".":
        return scope[""]
    names = word.split(".")
    if names[0] != "" or names[1] not in ("Values", "Chart", "Release"):
        raise TemplateError(f"unknown word '{word}'")
    value = scope[names[1]]
    for name in names[2:]:
        if not isinstance(value, dict) or name not in value:
            raise TemplateError(f"there is no {word}")
        value = value[name]
    return value


def text_of(value):
    if isinstance(value, (dict, list)) or value is None:
        raise TemplateError(f"{value!r} is no text")
    return str(value).lower() if isinstance(value, bool) else str(value)


def pieces(text):
    """Texts and the insides of tags, in turn, without the blanks that tags take away."""
    out, at = [], 0
    trims = False
    for tag in TAG.finditer(text):
        between = text[at:tag.start()]
        between = between.lstrip() if trims else between
        out += [between.rstrip() if tag[1] else between, tag[2].strip()]
        trims, at = bool(tag[3]), tag.end()
    rest = text[at:].lstrip() if trims else text[at:]
    if "{{" in rest or "}}" in rest:
        raise TemplateError("a tag without end")
    return out + [rest]


def render(text, scope):
    parts = pieces(text)
    out, at = block(parts, 0, scope, True)
    if at != len(parts):
        raise TemplateError("more 'end' than blocks")
    return out


def block(parts, at, scope, is_shown):
    """Renders up to the end of this block. Returns the text and where its 'end' or 'else' is."""
    out = ""
    while True:
        out += parts[at] if is_shown else ""
        at += 1
        if at == len(parts) or parts[at] in ("end", "else"):
            return out, at
        inside = parts[at]
        at += 1
        if inside.startswith("/*") and inside.endswith("*/"):
            continue
        word, _, rest = inside.partition(" ")
        if word not in ("if", "with"):
            value = evaluate(inside, scope)  # also where it is not shown: a wrong name is an error
            out += text_of(value) if is_shown else ""
            continue
        value = evaluate(rest, scope)
        inner = {**scope, "": value} if word == "with" and value else scope
        shown, at = block(parts, at, inner, is_shown and bool(value)) if value or word == "if" else skip(parts, at, scope)
        out += shown
        if at < len(parts) and parts[at] == "else":
            shown, at = block(parts, at + 1, scope, is_shown and not value)
            out += shown
        if at >= len(parts) or parts[at] != "end":
            raise TemplateError(f"'{inside}' has no 'end'")
        at += 1


def skip(parts, at, scope):
    """A `with` of nothing: what is inside has no dot."""
    return block(parts, at, {**scope, "": {}}, False)


def merged(values, changes):
    out = copy.deepcopy(values)
    for key, value in changes.items():
        out[key] = merged(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) else value
    return out


def render_chart(folder, changes, namespace="mangrove"):
    """{name of the template: text}; changes: values in place of those in values.yaml, as with `helm -f`."""
    chart = yaml.safe_load((folder / "Chart.yaml").read_text())
    scope = {
        "": None,
        "Values": merged(yaml.safe_load((folder / "values.yaml").read_text()), changes),
        "Chart": {key[0].upper() + key[1:]: value for key, value in chart.items()},
        "Release": {"Name": "mangrove", "Namespace": namespace},
    }
    out = {}
    for template in sorted((folder / "templates").iterdir()):
        try:
            out[template.name] = render(template.read_text(), scope)
        except TemplateError as error:
            raise TemplateError(f"{template}: {error}") from error
    return out
