// The program itself.
import { call } from "pi:host";

// Ends the program; fails if it does not allow that now.
export function exit(code) {
  call("program.exit", { code: Number(code ?? globalThis.process.exitCode ?? 0) });
}
