// The module `pi:native` on Node.
import { pathToFileURL } from "node:url";

const { call, requireModule } = globalThis[Symbol.for("pi.connection")];

export { requireModule };

// Returns the URL of a resolved import.
export function resolve(specifier, importer, kind) {
  return pathToFileURL(call("modules", "resolve", { specifier, importer, kind })).href;
}

// Node tracks module evaluation itself.
export function markEvaluated() {}
