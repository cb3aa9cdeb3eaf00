// What extensions add to the work and to the prompts of a session, for `get_extension_costs`.
import { call, charge } from "pi:host";

// Renders for an extension, which is charged for the time.
export function rendering(extension, work) {
  const before = charge(extension, true);
  try {
    return work();
  } finally {
    charge(before, false);
  }
}

// What was reported last, by extension and part of the prompt.
const reported = new Map();

// Reports how many characters an extension adds to a part of each prompt: `system` or `context`. `sections` are the
// sections of the system prompt that it has changed.
function report(extension, part, characters, sections = []) {
  const key = `${part} ${extension}`;
  const value = `${characters} ${sections.join(" ")}`;
  if ((reported.get(key) ?? "0 ") === value) return;
  reported.set(key, value);
  call("program.promptText", { extensionPath: extension, part, characters, sections });
}

const lengthOf = (text) => (typeof text === "string" ? text.length : 0);

// The texts of a system prompt that handlers may change.
function measure({ systemPrompt, systemPromptOptions: options }) {
  const sections = { ...options?.sections };
  const files = Array.isArray(options?.contextFiles) ? options.contextFiles : [];
  let characters = lengthOf(systemPrompt) + lengthOf(options?.customPrompt) + lengthOf(options?.appendSystemPrompt);
  for (const text of Object.values(sections)) characters += lengthOf(text);
  for (const file of files) characters += lengthOf(file?.content);
  return { characters, sections };
}

// Follows an event whose handlers change the system prompt. The returned function is called after each handler with its
// extension, and without one when all have run.
export function followSystemPrompt(event) {
  let before = measure(event);
  const totals = new Map();
  return (extension) => {
    if (extension === undefined) {
      for (const [path, { characters, sections }] of totals) report(path, "system", characters, [...sections]);
      return;
    }
    const after = measure(event);
    const total = totals.get(extension) ?? { characters: 0, sections: new Set() };
    total.characters += after.characters - before.characters;
    for (const [name, text] of Object.entries(after.sections)) if (before.sections[name] !== text) total.sections.add(name);
    totals.set(extension, total);
    before = after;
  };
}

// Values that one estimate visits at most.
const MAX_VALUES = 10_000;

// Characters that count for an image, like in the estimates of the program.
const IMAGE_CHARACTERS = 4800;

// Estimates the size of messages as the length of their strings, without serializing them: they may be large, or contain
// themselves.
function sizeOf(messages) {
  const pending = messages.slice(0, MAX_VALUES);
  const seen = new Set();
  let characters = 0;
  for (let visited = 0; pending.length > 0 && visited < MAX_VALUES; visited++) {
    const value = pending.pop();
    if (typeof value === "string") characters += value.length;
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || seen.has(value)) continue;
    seen.add(value);
    if (value.type === "image" && typeof value.data === "string") characters += IMAGE_CHARACTERS;
    else pending.push(...(Array.isArray(value) ? value : Object.values(value)).slice(0, Math.max(0, MAX_VALUES - pending.length)));
  }
  return characters;
}

// Returns how many characters a handler adds to a list of messages; `known` has those that it was given.
function addedCharacters(known, messages) {
  const kept = new Set(messages);
  const added = messages.filter((message) => !known.has(message));
  const removed = [...known].filter((message) => !kept.has(message));
  return added.length + removed.length === 0 ? 0 : sizeOf(added) - sizeOf(removed);
}

// Follows an event whose handlers change the messages of a request, like `followSystemPrompt`. Changes inside of
// messages are not noticed.
export function followMessages() {
  const totals = new Map();
  return (extension, known, messages) => {
    if (extension === undefined) {
      for (const [path, characters] of totals) report(path, "context", characters);
      return;
    }
    try {
      totals.set(extension, (totals.get(extension) ?? 0) + addedCharacters(known, messages));
    } catch {
      // Objects of the extension that throw when they are read have no size.
    }
  };
}
