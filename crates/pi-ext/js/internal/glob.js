// `glob` of `node:fs`: finds files by patterns. Loaded on first use.
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { toPath } from "pi:file_system";

const MAGIC = /[*?[\]()]/;

// Returns the texts that a pattern with braces stands for.
function expandBraces(pattern) {
  let depth = 0;
  let start = -1;
  const commas = [];
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern[index];
    if (character === "\\") index += 1;
    else if (character === "{" && depth++ === 0) start = index;
    else if (character === "," && depth === 1) commas.push(index);
    else if (character === "}" && depth > 0 && --depth === 0) {
      const rest = expandBraces(pattern.slice(index + 1));
      const inside = pattern.slice(start + 1, index);
      const range = /^(-?\d+)\.\.(-?\d+)$/.exec(inside);
      let choices;
      if (commas.length > 0) {
        const ends = [...commas, index];
        choices = ends.flatMap((end, which) => expandBraces(pattern.slice((which === 0 ? start : ends[which - 1]) + 1, end)));
      } else if (range) {
        const [low, high] = [Number(range[1]), Number(range[2])];
        const step = low <= high ? 1 : -1;
        choices = Array.from({ length: Math.abs(high - low) + 1 }, (_, offset) => String(low + step * offset));
      } else {
        choices = [`{${inside}}`];
      }
      return choices.flatMap((choice) => rest.map((tail) => pattern.slice(0, start) + choice + tail));
    }
  }
  return [pattern];
}

// Converts one part of a path to the text of a regular expression.
function sourceOf(part) {
  let text = "";
  const groups = [];
  for (let index = 0; index < part.length; index += 1) {
    const character = part[index];
    if ("!?+*@".includes(character) && part[index + 1] === "(") {
      groups.push(character);
      text += character === "!" ? "(?!(?:" : "(?:";
      index += 1;
    } else if (character === ")" && groups.length > 0) {
      const kind = groups.pop();
      text += kind === "!" ? `)(?:${groups.length === 0 && index === part.length - 1 ? "$" : ""}))[^/]*` : `)${kind === "@" ? "" : kind}`;
    } else if (character === "|" && groups.length > 0) {
      text += "|";
    } else if (character === "*") {
      text += "[^/]*";
    } else if (character === "?") {
      text += "[^/]";
    } else if (character === "[" && part.indexOf("]", index + 2) > 0) {
      const end = part.indexOf("]", index + 2);
      text += `[${part.slice(index + 1, end).replace(/^!/, "^").replace(/[\\[]/g, "\\$&")}]`;
      index = end;
    } else {
      text += character.replace(/[.+^${}()|[\]\\]/g, "\\$&");
    }
  }
  return text;
}

// Hidden files match only patterns that start with a dot.
function matcherOf(part) {
  const expression = new RegExp(`^${sourceOf(part)}$`);
  return (name) => (!name.startsWith(".") || part.startsWith(".")) && expression.test(name);
}

function compile(pattern) {
  const parts = pattern.split("/");
  const root = isAbsolute(pattern) ? "/" : "";
  const kept = parts.filter((part, index) => part !== "." && (part !== "" || index === parts.length - 1) && !(part === "**" && parts[index + 1] === "**"));
  return { root, parts: kept.map((part) => (part === "**" || part === "" || !MAGIC.test(part) ? part : matcherOf(part))) };
}

// Returns a test of whole relative paths.
function exclusionTest(exclude, withFileTypes) {
  if (typeof exclude === "function") return (path, entry) => exclude(withFileTypes ? entry : basename(path));
  const lists = [exclude ?? []].flat().flatMap(expandBraces).map((pattern) => {
    const parts = compile(pattern).parts;
    return (names) => matchParts(parts, 0, names, 0);
  });
  return (path) => lists.some((matches) => matches(path.split("/")));
}

function matchParts(parts, index, names, at) {
  if (index === parts.length) return at === names.length;
  const part = parts[index];
  if (part === "**") {
    for (let next = at; next <= names.length; next += 1) if (matchParts(parts, index + 1, names, next)) return true;
    return false;
  }
  if (at === names.length) return false;
  return (typeof part === "function" ? part(names[at]) : part === names[at]) && matchParts(parts, index + 1, names, at + 1);
}

function statusOf(path) {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

class Search {
  found = new Map();

  constructor(options) {
    this.cwd = resolve(toPath(options.cwd ?? "."));
    this.withFileTypes = Boolean(options.withFileTypes);
    this.isExcluded = exclusionTest(options.exclude, this.withFileTypes);
  }

  list(path) {
    try {
      return readdirSync(resolve(this.cwd, path), { withFileTypes: true });
    } catch {
      return [];
    }
  }

  emit(path, entry) {
    const name = path === "" ? "." : path;
    if (this.found.has(name)) return;
    if (!this.withFileTypes) return void this.found.set(name, name);
    const whole = resolve(this.cwd, name);
    const known = entry ?? this.list(dirname(whole)).find((it) => it.name === basename(whole));
    if (known) this.found.set(name, known);
  }

  run(pattern) {
    const { root, parts } = compile(pattern);
    if (pattern === "") return;
    const pending = [[root, 0]];
    while (pending.length > 0) this.step(...pending.pop(), parts, pending);
  }

  step(path, index, parts, pending) {
    const part = parts[index];
    if (index === parts.length) return this.emit(path);
    const isLast = index === parts.length - 1;
    if (typeof part === "string" && part !== "**") {
      const next = part === "" ? path : join(path, part);
      const status = statusOf(resolve(this.cwd, next));
      if (status === undefined || (part === "" && !status.isDirectory()) || (part !== "" && this.isExcluded(next))) return;
      return isLast ? this.emit(next) : this.step(next, index + 1, parts, pending);
    }
    if (part === "**") {
      if (isLast) this.emit(path);
      else this.step(path, index + 1, parts, pending);
    }
    for (const entry of this.list(path)) {
      const next = join(path, entry.name);
      const isMatch = part === "**" ? !entry.name.startsWith(".") : part(entry.name);
      if (!isMatch || this.isExcluded(next, entry)) continue;
      if (part === "**") {
        if (entry.isDirectory()) pending.push([next, index]);
        else if (isLast) this.emit(next, entry);
      } else if (isLast) {
        this.emit(next, entry);
      } else if (entry.isDirectory() || (entry.isSymbolicLink() && statusOf(resolve(this.cwd, next))?.isDirectory())) {
        pending.push([next, index + 1]);
      }
    }
  }
}

/** Returns the paths, or entries, that match. */
export function findMatches(pattern, options = {}) {
  const patterns = [pattern].flat();
  if (patterns.some((it) => typeof it !== "string")) throw Object.assign(new TypeError('The "patterns" argument must be of type string or an instance of Array.'), { code: "ERR_INVALID_ARG_TYPE" });
  const search = new Search(options ?? {});
  for (const one of patterns.flatMap(expandBraces)) search.run(one);
  return [...search.found.values()];
}
