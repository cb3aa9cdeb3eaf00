// `JSON.parse` with V8's error messages. Must run before intrinsics are recorded.
import { requireModule } from "pi:native";

const { parse: nativeParse } = JSON;

const { parse } = {
  parse(text, reviver) {
    const source = typeof text === "string" ? text : `${text}`;
    try {
      return reviver === undefined ? nativeParse(source) : nativeParse(source, reviver);
    } catch (error) {
      const message = error instanceof SyntaxError ? requireModule("pi:json_errors").describeJsonError(source) : undefined;
      if (message === undefined) throw error;
      throw new SyntaxError(message);
    }
  },
};
Object.defineProperty(JSON, "parse", { value: parse, writable: true, configurable: true });
