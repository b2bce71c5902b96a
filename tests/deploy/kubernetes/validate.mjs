// Checks objects of Kubernetes against the schemas that Kubernetes publishes, and objects of Kubeflow and KServe against
// those in extensions.json. A field that a schema does not have is an error, too.
//
//   validate.mjs < OBJECTS.json   # [{"source": "where it is from", "object": {...}} or {"source", "value", "schema"}, ...]
//
// Prints a line for each thing that is wrong; then the exit status is 1.

import fs from "node:fs";
import Ajv from "ajv";

const modelNames = {  // of kubernetes-models, by the group of the API
  "": "IoK8sApiCore", apps: "IoK8sApiApps", batch: "IoK8sApiBatch", "networking.k8s.io": "IoK8sApiNetworking",
  policy: "IoK8sApiPolicy",
};

const validators = new Map();
async function load(name) {
  const folder = name.includes("Apimachinery") ? "@kubernetes-models/apimachinery" : "kubernetes-models";
  if (!validators.has(name))
    validators.set(name, (await import(`./node_modules/${folder}/_schemas/${name}.mjs`)).validate);
}

// The object, which notes the fields that are read. A validator reads all that its schema has.
function watched(value, path, unread) {
  if (value === null || typeof value !== "object") return value;
  const children = new Map();
  for (const key of Object.keys(value)) unread.add(`${path}/${key}`);
  return new Proxy(value, {
    get(target, key) {
      if (typeof key !== "string" || !Object.hasOwn(target, key)) return target[key];
      const where = `${path}/${key}`;
      unread.delete(where);
      if (!children.has(key)) children.set(key, watched(target[key], where, unread));
      return children.get(key);
    },
  });
}

function errorsOf(validate, { object, value }) {
  const unread = new Set();
  if (!validate(object ? watched(object, "", unread) : value))
    return validate.errors.map((error) => `${error.instancePath || "/"}: ${error.message ?? describe(error)}`);
  return [...unread].map((path) => `${path}: the schema has no such field`);
}

function describe(error) {  // those of kubernetes-models have no message
  const { missingProperty, type, allowedValues } = error.params ?? {};
  if (missingProperty) return `${missingProperty} is missing`;
  if (type) return `is no ${type}`;
  if (allowedValues) return `is none of ${allowedValues.join(", ")}`;
  return error.keyword;
}

const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
ajv.addKeyword({  // "model": the value is what the schema of Kubernetes with this name describes
  keyword: "model",
  errors: true,
  validate: function check(name, data, schema, context) {
    const validate = validators.get(name);
    if (validate(data)) return true;
    check.errors = validate.errors.map((error) => (
      { ...error, instancePath: context.instancePath + error.instancePath, message: error.message ?? describe(error) }));
    return false;
  },
});

const extensions = JSON.parse(fs.readFileSync(new URL("extensions.json", import.meta.url), "utf8"));
async function loadModels(schema) {
  for (const [key, value] of Object.entries(schema ?? {})) {
    if (key === "model" && typeof value === "string") await load(value);
    else if (typeof value === "object") await loadModels(value);
  }
}

async function validatorOf({ object, schema }) {
  if (schema) return ajv.compile(schema);
  const { apiVersion, kind } = object;
  const extension = extensions[`${apiVersion} ${kind}`];
  if (extension) {
    await loadModels(extension);
    return ajv.compile(extension);
  }
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  if (!(group in modelNames)) throw new Error(`no schema of ${apiVersion}`);
  const name = `${modelNames[group]}${version[0].toUpperCase()}${version.slice(1)}${kind}`;
  await load(name);
  return validators.get(name);
}

let wrong = 0;
for (const item of JSON.parse(fs.readFileSync(0, "utf8"))) {
  let errors;
  try {
    errors = errorsOf(await validatorOf(item), item);
  } catch (error) {
    errors = [error.message];
  }
  for (const error of errors) console.log(`${item.source}: ${error}`);
  wrong += errors.length;
}
process.exit(wrong ? 1 : 0);
