// Sets up the global object. All globals except timers and the console are loaded on first access.
import { requireModule } from "pi:native";
import { clearTimer, setImmediate, setInterval, setTimeout } from "pi:timers";
import { console } from "pi:console";
import "pi:json";
import "pi:localized";
import "pi:host";
import "pi:stack";

function define(name, value) {
  Object.defineProperty(globalThis, name, {
    value,
    writable: true,
    configurable: true,
    enumerable: false,
  });
}

function lazy(module, ...names) {
  for (const name of names) {
    Object.defineProperty(globalThis, name, {
      configurable: true,
      enumerable: false,
      get() {
        const value = requireModule(module)[name];
        define(name, value);
        return value;
      },
      set(value) {
        define(name, value);
      },
    });
  }
}

define("global", globalThis);
define("console", console);
define("setTimeout", setTimeout);
define("setInterval", setInterval);
define("setImmediate", setImmediate);
define("clearTimeout", clearTimer);
define("clearInterval", clearTimer);
define("clearImmediate", clearTimer);
if (typeof globalThis.queueMicrotask !== "function") {
  define("queueMicrotask", (callback) => void Promise.resolve().then(callback));
}

Object.defineProperty(globalThis, Symbol.for("pi.standalone"), { configurable: true, get: () => requireModule("pi:standalone").createStandaloneProcess() });

lazy("pi:web/events", "Event", "EventTarget", "CustomEvent", "AbortController", "AbortSignal", "DOMException");
lazy("pi:web/encoding", "TextEncoder", "TextDecoder", "atob", "btoa");
lazy("pi:web/url", "URL", "URLSearchParams");
lazy(
  "pi:web/streams",
  "ReadableStream",
  "WritableStream",
  "TransformStream",
  "TextDecoderStream",
  "TextEncoderStream",
  "ByteLengthQueuingStrategy",
  "CountQueuingStrategy",
);
lazy("pi:web/blob", "Blob", "File", "FormData");
lazy("pi:web/fetch", "fetch", "Headers", "Request", "Response");
lazy("pi:web/crypto", "crypto");
lazy("pi:web/clone", "structuredClone");
lazy("pi:web/performance", "performance");
lazy("pi:web/intl", "Intl");
lazy("node:buffer", "Buffer");
lazy("node:process", "process");
lazy("pi:web/websocket", "WebSocket", "MessageEvent", "CloseEvent", "ErrorEvent");
lazy("pi:missing", "WebAssembly", "Worker", "MessageChannel", "BroadcastChannel");
