// Implements `util.inspect` and `util.format`.
const custom = Symbol.for("nodejs.util.inspect.custom");

const COLORS = { string: 32, number: 33, bigint: 33, boolean: 33, undefined: 90, null: 1, symbol: 32, date: 35, regexp: 31, special: 36 };
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

function quote(text) {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") ? "`" : "'";
  const escaped = text
    .replace(/\\/g, "\\\\")
    .replace(/\n/g, "\\n")
    .replace(/\r/g, "\\r")
    .replace(/\t/g, "\\t")
    .replace(/[\x00-\x1f\x7f]/g, (character) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
  return mark + (mark === "'" ? escaped.replace(/'/g, "\\'") : escaped) + mark;
}

function paint(state, kind, text) {
  return state.colors ? `\u001b[${COLORS[kind]}m${text}\u001b[39m` : text;
}

function primitive(value, state) {
  if (value === null) return paint(state, "null", "null");
  switch (typeof value) {
    case "string": {
      const limit = state.maxStringLength;
      const cut = value.length > limit ? `${quote(value.slice(0, limit))}... ${value.length - limit} more characters` : quote(value);
      return paint(state, "string", cut);
    }
    case "number":
      return paint(state, "number", Object.is(value, -0) ? "-0" : String(value));
    case "bigint":
      return paint(state, "bigint", `${value}n`);
    case "symbol":
      return paint(state, "symbol", value.toString());
    default:
      return paint(state, typeof value, String(value));
  }
}

function nameOf(value) {
  for (let object = value; object; object = Object.getPrototypeOf(object)) {
    const constructor = Object.getOwnPropertyDescriptor(object, "constructor")?.value;
    if (typeof constructor === "function" && constructor.name) return constructor.name;
  }
  return null;
}

function entriesOf(value, state, skip) {
  const keys = state.showHidden ? Reflect.ownKeys(value) : [...Object.keys(value), ...Object.getOwnPropertySymbols(value).filter((key) => Object.getOwnPropertyDescriptor(value, key)?.enumerable)];
  return keys.filter((key) => !skip?.(key)).map((key) => {
    const label = typeof key === "symbol" ? `[${key.toString()}]` : IDENTIFIER.test(key) ? key : quote(key);
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor?.get) return `${label}: ${paint(state, "special", descriptor.set ? "[Getter/Setter]" : "[Getter]")}`;
    if (descriptor?.set) return `${label}: ${paint(state, "special", "[Setter]")}`;
    return `${label}: ${show(descriptor ? descriptor.value : value[key], state)}`;
  });
}

function isIndex(key) {
  return typeof key === "string" && /^\d+$/.test(key);
}

function wrap(prefix, open, parts, close, state) {
  const head = prefix ? `${prefix} ` : "";
  if (parts.length === 0) return `${head}${open}${close}`;
  const length = parts.reduce((sum, part) => sum + part.length + 2, head.length + state.indent);
  const oneLine = state.compact !== false && length <= state.breakLength && parts.length <= 6 + (open === "[" ? 100 : 0) && !parts.some((part) => part.includes("\n"));
  if (oneLine || state.breakLength === Infinity) return `${head}${open} ${parts.join(", ")} ${close}`;
  const padding = " ".repeat(state.indent);
  return `${head}${open}\n${parts.map((part) => `${padding}  ${part}`).join(",\n")}\n${padding}${close}`;
}

function limited(items, total, state) {
  const rest = total - items.length;
  return rest > 0 ? [...items, `... ${rest} more item${rest > 1 ? "s" : ""}`] : items;
}

function errorText(error, state) {
  const stack = typeof error.stack === "string" && error.stack !== "" ? error.stack : `${error.name}: ${error.message}`;
  const extra = entriesOf(error, state, (key) => key === "stack" || key === "message");
  if (error.cause !== undefined && !Object.keys(error).includes("cause")) extra.push(`[cause]: ${show(error.cause, state)}`);
  if (Array.isArray(error.errors)) extra.push(`[errors]: ${show(error.errors, state)}`);
  const text = stack.replace(/\n/g, `\n${" ".repeat(state.indent)}`);
  return extra.length > 0 ? wrap(text, "{", extra, "}", { ...state, compact: false }) : text;
}

function show(value, state) {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return primitive(value, state);
  const inspectCustom = state.customInspect && value[custom];
  if (typeof inspectCustom === "function" && inspectCustom !== inspect) {
    const result = inspectCustom.call(value, state.depth - state.level, { ...state.options }, inspect);
    return typeof result === "string" ? result : show(result, state);
  }
  if (state.seen.includes(value)) return paint(state, "special", "[Circular *1]");
  const name = nameOf(value);
  if (state.level > state.depth) {
    const label = Array.isArray(value) ? "[Array]" : `[${name ?? "Object: null prototype"}]`;
    return paint(state, "special", label);
  }
  state.seen.push(value);
  state.level += 1;
  state.indent += 2;
  const inner = { ...state };
  try {
    return describe(value, name, inner, state);
  } finally {
    state.seen.pop();
    state.level -= 1;
    state.indent -= 2;
  }
}

function describe(value, name, state, outer) {
  const shown = { ...state, indent: outer.indent - 2 };
  const tag = value[Symbol.toStringTag];
  const label = name === null ? "[Object: null prototype]" : tag && typeof tag === "string" && tag !== name ? `${name} [${tag}]` : name;
  if (typeof value === "function") {
    const isClass = /^class\b/.test(Function.prototype.toString.call(value));
    const kind = isClass ? "class" : (name ?? "Function");
    const base = paint(state, "special", isClass ? `[class ${value.name || "(anonymous)"}]` : `[${kind}${value.name ? `: ${value.name}` : " (anonymous)"}]`);
    const extra = entriesOf(value, state);
    return extra.length > 0 ? wrap(base, "{", extra, "}", shown) : base;
  }
  if (Array.isArray(value)) {
    const items = [];
    for (let index = 0; index < Math.min(value.length, state.maxArrayLength); index++) {
      items.push(index in value ? show(value[index], state) : paint(state, "undefined", "<1 empty item>"));
    }
    return wrap(name === "Array" ? "" : `${name}(${value.length})`, "[", [...limited(items, value.length, state), ...entriesOf(value, state, isIndex)], "]", shown);
  }
  if (value instanceof Error) return errorText(value, { ...state, indent: outer.indent - 2 });
  if (value instanceof Date) return paint(state, "date", Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString());
  if (value instanceof RegExp) return paint(state, "regexp", String(value));
  if (value instanceof Map) {
    const items = [...value].slice(0, state.maxArrayLength).map(([key, entry]) => `${show(key, state)} => ${show(entry, state)}`);
    return wrap(`${label}(${value.size})`.replace(/ \[Map\]/, ""), "{", limited(items, value.size, state), "}", shown);
  }
  if (value instanceof Set) {
    const items = [...value].slice(0, state.maxArrayLength).map((entry) => show(entry, state));
    return wrap(`${label}(${value.size})`.replace(/ \[Set\]/, ""), "{", limited(items, value.size, state), "}", shown);
  }
  if (value instanceof Promise) return wrap("Promise", "{", [paint(state, "special", "<pending>")], "}", shown);
  if (value instanceof WeakMap || value instanceof WeakSet) return `${name} { ${paint(state, "special", "<items unknown>")} }`;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const items = Array.from(value.subarray(0, state.maxArrayLength), (item) => primitive(item, state));
    return wrap(`${name}(${value.length})`, "[", limited(items, value.length, state), "]", shown);
  }
  if (value instanceof ArrayBuffer) return `ArrayBuffer { byteLength: ${value.byteLength} }`;
  if (value instanceof Boolean || value instanceof Number || value instanceof String) return `[${name}: ${primitive(value.valueOf(), state)}]`;
  return wrap(label === "Object" ? "" : label, "{", entriesOf(value, state), "}", shown);
}

export function inspect(value, options = {}, ...legacy) {
  const settings = typeof options === "object" && options !== null ? options : { showHidden: options, depth: legacy[0], colors: legacy[1] };
  const depth = settings.depth === null || settings.depth === Infinity ? Infinity : (settings.depth ?? 2);
  return show(value, {
    options: settings,
    depth,
    colors: Boolean(settings.colors),
    showHidden: Boolean(settings.showHidden),
    customInspect: settings.customInspect !== false,
    maxArrayLength: settings.maxArrayLength === null ? Infinity : (settings.maxArrayLength ?? 100),
    maxStringLength: settings.maxStringLength === null ? Infinity : (settings.maxStringLength ?? 10000),
    breakLength: settings.breakLength ?? 80,
    compact: settings.compact ?? 3,
    level: 0,
    indent: 0,
    seen: [],
  });
}
inspect.custom = custom;
inspect.defaultOptions = { depth: 2, colors: false };
inspect.colors = Object.create(null);
inspect.styles = Object.create(null);

export function formatWithOptions(options, ...values) {
  const [first, ...rest] = values;
  if (typeof first !== "string") return values.map((value) => (typeof value === "string" ? value : inspect(value, options))).join(" ");
  let used = 0;
  const text = first.replace(/%[sdifjoOc%]/g, (code) => {
    if (code === "%%") return "%";
    if (used >= rest.length) return code;
    const value = rest[used++];
    switch (code) {
      case "%s":
        return typeof value === "string" ? value : typeof value === "object" && value !== null ? inspect(value, { ...options, depth: 0 }) : typeof value === "bigint" ? `${value}n` : String(value);
      case "%d":
        return typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN" : String(Number(value));
      case "%i":
        return String(Number.parseInt(value, 10));
      case "%f":
        return String(Number.parseFloat(value));
      case "%j":
        try {
          return JSON.stringify(value);
        } catch {
          return "[Circular]";
        }
      case "%c":
        return "";
      default:
        return inspect(value, options);
    }
  });
  return [text, ...rest.slice(used).map((value) => (typeof value === "string" ? value : inspect(value, options)))].join(" ");
}
