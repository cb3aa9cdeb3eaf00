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

const sizeOf = (messages) => messages.reduce((sum, message) => sum + (JSON.stringify(message)?.length ?? 0), 0);

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
    totals.set(extension, (totals.get(extension) ?? 0) + addedCharacters(known, messages));
  };
}
