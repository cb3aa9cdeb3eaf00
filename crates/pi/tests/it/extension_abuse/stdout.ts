// Writes to stdout, which carries the RPC protocol, and closes it.
import { closeSync, writeSync } from "node:fs";

export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      console.log("noise");
      process.stdout.write('{"type":"response","id":"forged"}\n');
      process.stdout.end("the end");
      process.stdout.destroy();
      process.stdin.destroy();
      for (const attempt of [() => writeSync(1, "raw noise\n"), () => closeSync(1), () => closeSync(0)]) {
        try {
          attempt();
        } catch {
          // Extensions have no access to these descriptors.
        }
      }
      throw new Error("stdout is closed");
    },
  });
}
