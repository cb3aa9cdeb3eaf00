// URL and URLSearchParams. Parsing is native.
import { callSync } from "pi:operations";

function decodeForm(text) {
  const spaced = text.replace(/\+/g, " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced.replace(/(%[0-9A-Fa-f]{2})+/g, (run) => {
      try {
        return decodeURIComponent(run);
      } catch {
        return run.replace(/%../g, "\ufffd");
      }
    });
  }
}

function encodeForm(text) {
  return encodeURIComponent(text.toWellFormed())
    .replace(/%20/g, "+")
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

export class URLSearchParams {
  #pairs = [];
  #changed = undefined;

  constructor(init = "") {
    if (init === null || (typeof init !== "object" && typeof init !== "function")) {
      this.#read(String(init));
    } else if (typeof init[Symbol.iterator] === "function") {
      for (const pair of init) {
        const [name, value, ...rest] = pair;
        if (value === undefined || rest.length > 0) throw new TypeError("Each query pair must be an iterable [name, value] tuple");
        this.#pairs.push([String(name), String(value)]);
      }
    } else {
      for (const name of Object.keys(init)) this.#pairs.push([name, String(init[name])]);
    }
  }

  #read(text) {
    const query = text.startsWith("?") ? text.slice(1) : text;
    this.#pairs = query
      .split("&")
      .filter((part) => part !== "")
      .map((part) => {
        const equals = part.indexOf("=");
        return equals < 0 ? [decodeForm(part), ""] : [decodeForm(part.slice(0, equals)), decodeForm(part.slice(equals + 1))];
      });
  }

  // Connects the parameters to a URL.
  static _attach(text, changed) {
    const params = new URLSearchParams(text);
    params.#changed = changed;
    return params;
  }

  _replace(text) {
    this.#read(text);
  }

  #update() {
    this.#changed?.(this.toString());
  }

  get size() {
    return this.#pairs.length;
  }
  append(name, value) {
    this.#pairs.push([String(name), String(value)]);
    this.#update();
  }
  delete(name, value) {
    this.#pairs = this.#pairs.filter((pair) => pair[0] !== String(name) || (value !== undefined && pair[1] !== String(value)));
    this.#update();
  }
  get(name) {
    return this.#pairs.find((pair) => pair[0] === String(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]);
  }
  has(name, value) {
    return this.#pairs.some((pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value)));
  }
  set(name, value) {
    const first = this.#pairs.find((pair) => pair[0] === String(name));
    if (first) {
      first[1] = String(value);
      this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== String(name));
    } else {
      this.#pairs.push([String(name), String(value)]);
    }
    this.#update();
  }
  sort() {
    this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    this.#update();
  }
  forEach(callback, self) {
    for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
  }
  *entries() {
    for (const [name, value] of this.#pairs) yield [name, value];
  }
  *keys() {
    for (const [name] of this.#pairs) yield name;
  }
  *values() {
    for (const [, value] of this.#pairs) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    return this.#pairs.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join("&");
  }
  get [Symbol.toStringTag]() {
    return "URLSearchParams";
  }
}

function parse(href, base) {
  try {
    return callSync("url", "parse", base === undefined ? { href } : { href, base });
  } catch (error) {
    throw Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input: href, ...(base === undefined ? {} : { base }), cause: error.code === "ERR_INVALID_URL" ? undefined : error });
  }
}

export class URL {
  #parts;
  #params;

  constructor(href, base) {
    this.#parts = parse(String(href).toWellFormed(), base === undefined ? undefined : String(base).toWellFormed());
  }

  static canParse(href, base) {
    try {
      new URL(href, base);
      return true;
    } catch {
      return false;
    }
  }

  static parse(href, base) {
    try {
      return new URL(href, base);
    } catch {
      return null;
    }
  }

  static createObjectURL() {
    throw new Error("URL.createObjectURL is not available to extensions");
  }

  static revokeObjectURL() {}

  static _set(url, property, value) {
    if (property === "href") url.#parts = parse(String(value));
    else url.#parts = callSync("url", "set", { href: url.#parts.href, property, value: String(value) });
    if (property === "href" || property === "search") url.#params?._replace(url.#parts.search);
  }

  static _get(url, property) {
    return url.#parts[property];
  }

  get searchParams() {
    this.#params ??= URLSearchParams._attach(this.#parts.search, (text) => {
      this.#parts = callSync("url", "set", { href: this.#parts.href, property: "search", value: text });
    });
    return this.#params;
  }

  toString() {
    return this.#parts.href;
  }
  toJSON() {
    return this.#parts.href;
  }
  get [Symbol.toStringTag]() {
    return "URL";
  }
  [Symbol.for("nodejs.util.inspect.custom")]() {
    return `URL { href: '${this.#parts.href}' }`;
  }
}

const getPart = URL._get;
const setPart = URL._set;
delete URL._get;
delete URL._set;
for (const property of ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]) {
  Object.defineProperty(URL.prototype, property, {
    get() {
      return getPart(this, property);
    },
    set: property === "origin" ? undefined : function (value) {
      setPart(this, property, value);
    },
    enumerable: true,
    configurable: true,
  });
}
