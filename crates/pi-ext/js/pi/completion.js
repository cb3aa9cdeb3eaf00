// Prompt completion: the built-in provider that extensions wrap, and the wrapped provider that the program calls.
import { call, request } from "pi:host";
import { guarded } from "pi:pi/mount";

// The built-in completion provider.
const builtIn = {
  triggerCharacters: [],
  async getSuggestions(lines, cursorLine, cursorCol, options) {
    if (options?.signal?.aborted) return null;
    const found = await request("screen.complete", { lines, line: cursorLine, column: cursorCol, force: options?.force === true });
    return options?.signal?.aborted ? null : found;
  },
  applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
    const applied = call("screen.applyCompletion", { line: lines[cursorLine] ?? "", column: cursorCol, item, prefix });
    return { lines: lines.map((line, index) => (index === cursorLine ? applied.line : line)), cursorLine, cursorCol: applied.column };
  },
  shouldTriggerFileCompletion(lines, cursorLine, cursorCol) {
    return call("screen.completesPath", { lines, line: cursorLine, column: cursorCol, force: false });
  },
};

let current = builtIn;
const listeners = new Set();

// Returns the current provider. `listener` is called when it changes.
export function provider(listener) {
  if (listener) listeners.add(listener);
  return current;
}

// Wraps the current provider.
export function wrapProvider(factory) {
  current = factory(current);
  call("screen.change", { kind: "completion", triggers: (current.triggerCharacters ?? []).map(String) });
  for (const listener of listeners) guarded("addAutocompleteProvider", () => listener(current));
}

let pendingRequest;

// Called by the program to get suggestions. Aborts the previous request.
export async function suggest(lines, cursorLine, cursorCol, force) {
  pendingRequest?.abort();
  const controller = (pendingRequest = new AbortController());
  const found = await current.getSuggestions(lines, cursorLine, cursorCol, { signal: controller.signal, force });
  return controller.signal.aborted ? null : (found ?? null);
}
