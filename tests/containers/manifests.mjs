// Checks manifests against the schemas of Kubernetes and of Compose: node manifests.mjs MODULES
// KUBERNETES COMPOSE FOLDER
//
// kubernetes-models has the Kubernetes schemas twice: as validators, which know formats and ranges
// but let unknown fields pass, and as TypeScript types, with which the compiler finds unknown and
// misspelled fields. Writes to FOLDER what the compiler reads.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const [modules, kubernetes, compose, folder] = process.argv.slice(2);
const { parseAllDocuments } = await import(path.join(modules, "yaml/dist/index.js"));
const { default: Ajv } = await import(path.join(modules, "ajv/dist/ajv.js"));

function read(file) {
  return parseAllDocuments(fs.readFileSync(file, "utf8"), { version: "1.1", merge: true }).map((document) => {
    for (const error of document.errors) throw error;
    return document.toJS();
  });
}

let failures = 0;
function fail(where, message) {
  console.log(`${where}: ${message}`);
  failures += 1;
}

const manifests = read(kubernetes);
let types = "";
for (const [index, manifest] of manifests.entries()) {
  const { apiVersion, kind } = manifest;
  const model = await import(path.join(modules, "kubernetes-models", apiVersion, `${kind}.js`));
  try {
    new model[kind](manifest).validate();
  } catch (error) {
    fail(kind, error.message);
  }
  types += `import type { I${kind} } from "kubernetes-models/${apiVersion}/${kind}";\n`;
  types += `export const manifest${index}: I${kind} = ${JSON.stringify(manifest, null, 1)};\n`;
}
console.log(`kinds: ${manifests.map((manifest) => manifest.kind).join(" ")}`);
fs.writeFileSync(path.join(folder, "manifests.mts"), types);
fs.rmSync(path.join(folder, "node_modules"), { force: true });
fs.symlinkSync(modules, path.join(folder, "node_modules"));
try {
  execFileSync(process.execPath, [path.join(modules, "typescript/bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
    "--module", "nodenext", "manifests.mts"], { cwd: folder, encoding: "utf8" });
} catch (error) {
  fail("types", error.stdout);
}

const ajv = new Ajv.default({ strict: false, logger: false, validateFormats: false });
const schema = JSON.parse(fs.readFileSync(path.join(modules, "dclint/schemas/compose.schema.json"), "utf8"));
delete schema.$schema;
const valid = ajv.compile(schema);
for (const document of read(compose)) {
  if (!valid(document)) fail("compose", ajv.errorsText(valid.errors));
}
process.exit(failures === 0 ? 0 : 1);
