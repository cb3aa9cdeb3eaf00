// readline/promises.
import { requireModule } from "pi:native";

// Loaded lazily, since `readline` imports this module.
export function createInterface(input, output) {
  const readline = requireModule("node:readline").createInterface(input, output);
  const question = readline.question.bind(readline);
  readline.question = (query) => new Promise((resolve) => question(query, resolve));
  return readline;
}
export default { createInterface };
