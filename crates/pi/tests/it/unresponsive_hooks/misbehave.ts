// Misbehaves in the hook and in the way that the environment names.
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";

const { BAD_HOOK: hook, BAD_MANNER: manner } = process.env;

async function flood(): Promise<never> {
  for (;;) await null;
}

function misbehave() {
  switch (manner) {
    case "never":
      return new Promise(() => {});
    case "loop":
      for (;;);
    case "block":
      execSync("sleep 600");
      return;
    case "stuck":
      // Cannot be interrupted.
      execSync("mkfifo pipe");
      readFileSync("pipe");
      return;
    case "flood":
      return flood();
    default:
      throw new Error("thrown by the hook");
  }
}

if (hook === "import") await misbehave();

export default function (pi: any) {
  if (hook === "load") return misbehave();
  pi.on(hook, (_event: any, context: any) => {
    if (context?.hasUI) context.ui.notify("hook entered", "info");
    return misbehave();
  });
}
