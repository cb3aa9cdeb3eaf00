// What our modules need of the engine, when the engine is Node.
import { pathToFileURL } from "node:url";

const { call, requireModule } = globalThis[Symbol.for("pi.connection")];

export { requireModule };

// Returns the address of what an import means.
export function resolve(specifier, importer, kind) {
  return pathToFileURL(call("modules", "resolve", { specifier, importer, kind })).href;
}

// Node itself knows what has run.
export function finish() {}
