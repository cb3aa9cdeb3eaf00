// readline/promises.
import { requireModule } from "pi:native";

// `readline` imports this module, so its class is asked for when an interface is made.
export function createInterface(input, output) {
  const made = requireModule("node:readline").createInterface(input, output);
  const ask = made.question.bind(made);
  made.question = (query) => new Promise((resolve) => ask(query, resolve));
  return made;
}
export default { createInterface };
