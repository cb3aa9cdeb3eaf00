// The globals of scripts. Runs before the script, in the same realm, and freezes what the language provides, so that
// a script cannot change what this file relies on.
(function (send, inputJson) {
  "use strict";

  const MAX_VALUE = 262144;
  const MAX_STORE = 1048576;
  const MAX_OUTPUT = 16777216;
  const MAX_ITEMS = 100000;
  const MAX_PENDING = 10000;
  const SHOWN_NAMES = 20;

  freezeLanguage();

  const { parse, stringify } = JSON;
  const input = parse(inputJson);
  const waiting = new Map();
  let lastId = 0;
  let isDone = false;

  // Freezes every object that a script can reach before it runs.
  function freezeLanguage() {
    const hidden = [
      function* () {},
      async function () {},
      async function* () {},
      Int8Array,
      [].values(),
      new Map().values(),
      new Set().values(),
      ""[Symbol.iterator](),
      "".matchAll(/a/g),
    ].map(Object.getPrototypeOf);
    if (typeof Iterator === "function") {
      hidden.push(Object.getPrototypeOf([].values().map((item) => item)));
      hidden.push(Object.getPrototypeOf(Iterator.from({ next() {} })));
    }
    const known = new Set([globalThis]);
    const found = [];
    const reach = (value) => {
      const isObject = typeof value === "function" || (typeof value === "object" && value !== null);
      if (isObject && !known.has(value)) {
        known.add(value);
        found.push(value);
      }
    };
    hidden.forEach(reach);
    for (const name of Reflect.ownKeys(globalThis)) {
      const property = Reflect.getOwnPropertyDescriptor(globalThis, name);
      [property.value, property.get, property.set].forEach(reach);
      if (property.configurable && "value" in property) {
        Object.defineProperty(globalThis, name, { writable: false, configurable: false });
      }
    }
    for (let object; (object = found.pop()) !== undefined; ) {
      reach(Object.getPrototypeOf(object));
      for (const name of Reflect.ownKeys(object)) {
        const property = Reflect.getOwnPropertyDescriptor(object, name);
        [property.value, property.get, property.set].forEach(reach);
        if (isInherited(object, name) && property.configurable && property.writable) {
          const accessor = overridable(object, name, property.value);
          [accessor.get, accessor.set].forEach(reach);
          Object.defineProperty(object, name, { ...accessor, enumerable: property.enumerable, configurable: false });
        }
      }
      Object.freeze(object);
    }
  }

  // Properties that scripts set on their own objects although a prototype has them, such as the name of an error.
  function isInherited(object, name) {
    const usual = ["constructor", "name", "message", "toString", "toLocaleString", "valueOf", "toJSON"];
    return object === Object.prototype || usual.includes(name);
  }

  // A read-only property of a prototype could not be assigned on the objects that inherit it; an accessor can.
  function overridable(owner, name, value) {
    const { get, set } = Reflect.getOwnPropertyDescriptor(
      {
        get it() {
          return value;
        },
        set it(own) {
          if (this === owner) throw new TypeError(`'${String(name)}' of a built-in object is read-only`);
          if (Object(this) === this) {
            Object.defineProperty(this, name, { value: own, writable: true, enumerable: true, configurable: true });
          }
        },
      },
      "it",
    );
    return { get, set };
  }

  // Unpaired surrogates are no text outside of JavaScript.
  const toText = (value) => String(value).toWellFormed();

  function toJson(value) {
    const json = stringify(value);
    if (json === undefined || !json.includes("\\ud")) return json;
    return json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.length > 2 ? "\\ufffd" : escape));
  }

  function post(kind, fields) {
    send(`{"kind":"${kind}"${fields}}`);
  }

  const field = (name, text) => `,"${name}":${stringify(toText(text))}`;

  function finish(outcome, fields) {
    if (isDone) return;
    isDone = true;
    post(outcome, fields);
  }

  // Class and message, then the frames of the script.
  function trace(error) {
    const title = error.message ? `${error.name}: ${error.message}` : String(error.name);
    const frames = typeof error.stack === "string" ? error.stack.split("\n") : [];
    return [title, ...frames.filter((frame) => frame.trim() && !frame.includes("prelude.js"))].join("\n");
  }

  function display(value) {
    if (typeof value === "string") return value;
    if (value instanceof Error) return trace(value);
    try {
      return stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  }

  function fail(error) {
    let text;
    try {
      text = toText(error instanceof Error ? trace(error) : `Error: ${display(error)}`);
    } catch {
      text = "Error: the script threw a value that has no text";
    }
    finish("failed", field("error", text));
  }

  function succeed(value) {
    let fields = "";
    try {
      const json = toJson(value);
      if (json !== undefined) fields += field("value", json.startsWith('"') ? parse(json) : json);
      const changes = Array.from(writes, ([key, stored]) => (stored === undefined ? [key] : [key, parse(stored)]));
      fields += `,"writes":${toJson(changes)}`;
    } catch (error) {
      fail(error);
      return;
    }
    finish("succeeded", fields);
  }

  // A function whose calls the program answers.
  function remote(kind, name, takesList) {
    return (...values) =>
      new Promise((resolve, reject) => {
        if (waiting.size >= MAX_PENDING) {
          throw new RangeError(`more than ${MAX_PENDING} calls are pending; await some of them first`);
        }
        const json = toJson(takesList ? values : values[0]);
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        post(kind, `,"id":${id}${field("name", name)}${json === undefined ? "" : `,"arguments":${json}`}`);
      });
  }

  // Reading a missing member fails at once, with the names that come close.
  function guarded(members, label, hint) {
    const names = Object.keys(members).filter((name) => /^[\w$]+$/.test(name));
    const bare = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
    const ordinary = (name) =>
      typeof name !== "string" || name in members || name in Object.prototype || name === "then" || name === "toJSON";
    return new Proxy(members, {
      get(target, name, receiver) {
        if (ordinary(name)) return Reflect.get(target, name, receiver);
        const wanted = bare(name);
        const isClose = (other) => wanted !== "" && (bare(other).includes(wanted) || wanted.includes(bare(other)));
        const same = names.filter((other) => bare(other) === wanted);
        const close = same.length > 0 ? same : names.filter(isClose);
        let message = `${label} has no member ${stringify(name)}.`;
        if (close.length > 0) {
          message += ` Similar: ${close.slice(0, 5).map((other) => `${label}.${other}`).join(", ")}.`;
        } else if (names.length <= SHOWN_NAMES) {
          message += ` Members: ${names.join(", ")}.`;
        }
        throw new TypeError(`${message} ${hint}`);
      },
    });
  }

  const toolFunctions = Object.create(null);
  const allTools = [];
  for (const { name, id, description } of input.tools) {
    const call = remote("call", name, false);
    if (!(id in toolFunctions)) {
      toolFunctions[id] = call;
      allTools.push(Object.freeze({ name: id, description }));
    }
    if (!(name in toolFunctions)) toolFunctions[name] = call;
  }
  Object.freeze(toolFunctions);
  Object.freeze(allTools);
  const tools = guarded(toolFunctions, "tools", "searchTools(query) finds tools, ALL_TOOLS lists them.");

  const modelFunctions = Object.create(null);
  for (const name of input.models) modelFunctions[name] = remote("ask", `models.${name}`, true);
  Object.freeze(modelFunctions);

  // Values by key, as JSON.
  const stored = new Map(Object.entries(input.store));
  const writes = new Map();
  const sizeOf = (key) => (stored.has(key) ? key.length + stored.get(key).length : 0);
  let storedSize = 0;
  for (const key of stored.keys()) storedSize += sizeOf(key);

  function checkKey(key) {
    if (typeof key !== "string") throw new TypeError("the key of a stored value must be a string");
  }

  function store(key, value) {
    checkKey(key);
    const name = stringify(key);
    if (value === undefined) {
      storedSize -= sizeOf(key);
      stored.delete(key);
      writes.set(key, undefined);
      return;
    }
    let json;
    try {
      json = toJson(value);
    } catch (error) {
      throw new TypeError(`the value for ${name} cannot be stored as JSON: ${display(error)}`);
    }
    if (json === undefined) throw new TypeError(`the value for ${name} cannot be stored as JSON`);
    const advice = "Store IDs and short results; pass larger data to a tool that writes a file.";
    if (json.length > MAX_VALUE) {
      throw new RangeError(`the value for ${name} has ${json.length} characters of JSON, the limit is ${MAX_VALUE}. ${advice}`);
    }
    const size = storedSize - sizeOf(key) + key.length + json.length;
    if (size > MAX_STORE) {
      throw new RangeError(
        `stored values are limited to ${MAX_STORE} characters of JSON in total. Remove some with store(key, undefined). ${advice}`,
      );
    }
    storedSize = size;
    stored.set(key, json);
    writes.set(key, json);
  }

  function load(key) {
    checkKey(key);
    const json = stored.get(key);
    return json === undefined ? undefined : parse(json);
  }

  let outputSize = 0;
  let outputItems = 0;

  function output(kind, text, more = "") {
    if (isDone) return;
    outputSize += text.length;
    outputItems += 1;
    if (outputSize > MAX_OUTPUT || outputItems > MAX_ITEMS) {
      const error = new RangeError(
        `a script may output ${MAX_OUTPUT} characters in ${MAX_ITEMS} items. Output a summary, or let a tool write a file.`,
      );
      fail(error);
      throw error;
    }
    post(kind, field("text", text) + more);
  }

  function text(value) {
    const isPrimitive = value === null || (typeof value !== "object" && typeof value !== "function");
    output("text", isPrimitive ? String(value) : (toJson(value) ?? String(value)));
  }

  // The first characters of images in base64.
  const IMAGES = [
    ["image/png", /^iVBORw0KGg/],
    ["image/jpeg", /^\/9j\/[^9]/],
    ["image/gif", /^R0lGOD[dl]h/],
    ["image/webp", /^UklG.{8}RUJQ/],
  ];

  function imageAddress(value) {
    if (typeof value === "string") return value;
    if (typeof value?.image_url === "string") return value.image_url;
    if (value?.type === "image" && typeof value.data === "string" && value.data !== "") {
      return /^data:/i.test(value.data) ? value.data : `data:;base64,${value.data}`;
    }
    throw new TypeError("image() takes a data URL, an object with image_url, or { type: \"image\", data, mimeType }");
  }

  function image(value) {
    const address = imageAddress(value);
    if (/^https?:/i.test(address)) throw new TypeError("image() cannot load URLs; pass a data URL with base64");
    const parts = /^data:([^,]*),([^]*)$/i.exec(address);
    if (parts === null || !/;base64(;|$)/i.test(parts[1])) throw new TypeError("image() needs a data URL with base64");
    const data = parts[2].replace(/\s+/g, "");
    if (data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
      throw new TypeError("the data of the image is not valid base64");
    }
    const start = data.slice(0, 16);
    const format = IMAGES.find(([, signature]) => signature.test(start));
    if (format === undefined) throw new TypeError("the image is neither PNG, JPEG, GIF nor WebP");
    output("image", data, field("mimeType", format[0]));
  }

  function exit() {
    succeed(undefined);
    // Ends the script unless it catches this.
    throw null;
  }

  const print = (...values) => output("console", values.map(display).join(" "));
  const console = Object.freeze({ log: print, info: print, warn: print, error: print, debug: print });

  const globals = {
    tools,
    ALL_TOOLS: allTools,
    searchTools: remote("ask", "searchTools", true),
    describeTool: remote("ask", "describeTool", true),
    describeNamespace: remote("ask", "describeNamespace", true),
    models: guarded(modelFunctions, "models", "The members of models are its functions."),
    text,
    image,
    console,
    store,
    load,
    exit,
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, enumerable: true });
  }

  return {
    run(script) {
      // Also catches a body that is no function, or that returns no promise.
      Promise.resolve()
        .then(() => script(tools, console))
        .then(succeed, fail);
    },
    receive(message) {
      const { id, value, error } = parse(message);
      const call = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) call?.resolve(value);
      else call?.reject(new Error(error));
    },
    idle() {
      if (isDone || waiting.size > 0) return;
      const reason = "the script waits for a promise that nothing can settle: no call is pending and there are no timers";
      finish("failed", field("error", `Error: ${reason}`));
    },
  };
});
