// Completion of commands, command arguments and paths.
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fuzzyFilter } from "pi:tui/fuzzy";

const MAX_ITEMS = 20;
const nameOf = (command) => command.name ?? command.value;
const quoted = (path) => (path.includes(" ") ? `"${path}"` : path);

// Returns the path before the cursor with its prefix: `@` for a file reference, a quote for paths with spaces.
function pathBefore(text) {
  const [, at = "", quote = "", path] = /(?:^|[\s=])(@?)("?)((?:(?<=")[^"]*)|[^\s"'=]*)$/.exec(text) ?? [];
  return path === undefined ? undefined : { at, quote, path, prefix: at + quote + path };
}

export class CombinedAutocompleteProvider {
  #commands;
  #base;

  constructor(commands = [], basePath = process.cwd()) {
    this.#commands = commands;
    this.#base = basePath;
  }

  async getSuggestions(lines, cursorLine, cursorCol, options = {}) {
    const before = (lines[cursorLine] ?? "").slice(0, cursorCol);
    if (before.startsWith("/") && !options.force) {
      const space = before.indexOf(" ");
      return space < 0 ? this.#commandsFor(before) : this.#argumentsFor(before.slice(1, space), before.slice(space + 1));
    }
    const found = pathBefore(before);
    const isPath = found && (options.force || found.at !== "" || /^(\.{0,2}\/|~)/.test(found.path) || found.path.includes("/"));
    return isPath ? this.#pathsFor(found) : null;
  }

  applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
    const line = lines[cursorLine] ?? "";
    const before = line.slice(0, cursorCol - prefix.length);
    const after = line.slice(cursorCol);
    const isCommand = prefix.startsWith("/") && before.trim() === "" && !prefix.slice(1).includes("/");
    const isDirectory = item.label?.endsWith("/");
    const text = isCommand ? `/${item.value} ` : item.value + (prefix.startsWith("@") && !isDirectory ? " " : "");
    // For a quoted directory, the cursor stays inside the quotes.
    const inside = isDirectory && text.endsWith('"') ? 1 : 0;
    const rest = inside && after.startsWith('"') ? after.slice(1) : after;
    const changed = [...lines];
    changed[cursorLine] = before + text + rest;
    return { lines: changed, cursorLine, cursorCol: before.length + text.length - inside };
  }

  shouldTriggerFileCompletion(lines, cursorLine, cursorCol) {
    const before = (lines[cursorLine] ?? "").slice(0, cursorCol).trim();
    return !before.startsWith("/") || before.includes(" ");
  }

  #commandsFor(prefix) {
    const matching = fuzzyFilter(this.#commands, prefix.slice(1), nameOf);
    const items = matching.map((command) => {
      const description = [command.argumentHint, command.description].filter(Boolean).join(" — ");
      return { value: nameOf(command), label: nameOf(command), ...(description && { description: description }) };
    });
    return items.length > 0 ? { items, prefix } : null;
  }
  async #argumentsFor(name, prefix) {
    const command = this.#commands.find((command) => nameOf(command) === name);
    const items = await command?.getArgumentCompletions?.(prefix);
    return Array.isArray(items) && items.length > 0 ? { items, prefix } : null;
  }
  #pathsFor({ at, path, prefix }) {
    const directory = path.endsWith("/") || path === "" ? path : path.slice(0, path.lastIndexOf("/") + 1);
    const start = path.slice(directory.length).toLowerCase();
    const expanded = directory.startsWith("~") ? join(homedir(), directory.slice(1)) : directory;
    let entries;
    try {
      entries = readdirSync(expanded.startsWith("/") ? expanded : join(this.#base, expanded), { withFileTypes: true });
    } catch {
      // The directory does not exist or cannot be read.
      return null;
    }
    const matching = entries.filter((entry) => entry.name.toLowerCase().startsWith(start) && entry.name !== ".git");
    matching.sort((left, right) => right.isDirectory() - left.isDirectory() || left.name.localeCompare(right.name));
    const items = matching.slice(0, MAX_ITEMS).map((entry) => {
      const name = entry.name + (entry.isDirectory() ? "/" : "");
      return { value: at + quoted(directory + name), label: name, description: dirname(directory + entry.name) };
    });
    return items.length > 0 ? { items, prefix } : null;
  }
}
