// Completion at the prompt: the program's own provider as extensions wrap it, and theirs as the program asks it.
import { call, request } from "pi:host";
import { guarded } from "pi:pi/mount";

// The program's own completions.
const builtIn = {
  triggerCharacters: [],
  async getSuggestions(lines, cursorLine, cursorCol, options) {
    if (options?.signal?.aborted) return null;
    const found = await request("ui.complete", { lines, line: cursorLine, column: cursorCol, force: options?.force === true });
    return options?.signal?.aborted ? null : found;
  },
  applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
    const done = call("ui.applyCompletion", { line: lines[cursorLine] ?? "", column: cursorCol, item, prefix });
    return { lines: lines.map((line, index) => (index === cursorLine ? done.line : line)), cursorLine, cursorCol: done.column };
  },
  shouldTriggerFileCompletion(lines, cursorLine, cursorCol) {
    return call("ui.completesPath", { lines, line: cursorLine, column: cursorCol });
  },
};

let current = builtIn;
const listeners = new Set();

// Returns the provider of the prompt; `listener` hears of another.
export function provider(listener) {
  if (listener) listeners.add(listener);
  return current;
}

// Puts a provider around the one there is.
export function wrapProvider(factory) {
  current = factory(current);
  call("ui.change", { kind: "completion", triggers: (current.triggerCharacters ?? []).map(String) });
  for (const listener of listeners) guarded("addAutocompleteProvider", () => listener(current));
}

let asking;

// Called by the program: what may be completed, by the extensions' provider.
export async function suggest(lines, cursorLine, cursorCol, force) {
  asking?.abort();
  const controller = (asking = new AbortController());
  const found = await current.getSuggestions(lines, cursorLine, cursorCol, { signal: controller.signal, force });
  return controller.signal.aborted ? null : (found ?? null);
}
