// The `process` of modules that look for a standalone build of pi: those that compare paths with `/$bunfs/`, the
// directory of the TypeScript pi's standalone build.
import { programFile } from "pi:host";
import { requireModule } from "pi:native";

export function createStandaloneProcess() {
  const { process } = globalThis;
  const execPath = programFile();
  return Object.create(process, {
    versions: { value: { ...process.versions, bun: "1.3.0" } },
    argv: { value: [execPath, "/$bunfs/root/pi", ...process.argv.slice(2)] },
    execPath: { value: execPath },
  });
}

// Ends the program if it allows that, which it does while extensions load without a terminal.
export function exitProgram(code) {
  requireModule("pi:pi/program").exit(code);
}
