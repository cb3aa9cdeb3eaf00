// Misbehaves in the hook and in the way that the environment names. Its commands call the hooks that a run does not.
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";

const { BAD_HOOK: hook, BAD_MANNER: manner } = process.env;

async function flood(): Promise<never> {
  for (;;) await null;
}

function misbehave(): any {
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

function enter(context: any) {
  if (context?.hasUI) context.ui.notify("hook entered", "info");
  return misbehave();
}

function firstMessage(context: any): string {
  const isMessage = (entry: any) => entry.type === "message" && entry.message.role === "user";
  return context.sessionManager.getEntries().find(isMessage).id;
}

if (hook === "import") await misbehave();

export default function (pi: any) {
  if (hook === "load") return misbehave();
  pi.on(hook, (_event: any, context: any) => enter(context));
  const commands: Record<string, (context: any) => unknown> = {
    do_switch: (context) => context.newSession(),
    do_fork: (context) => context.fork(firstMessage(context)),
    do_tree: (context) => context.navigateTree(firstMessage(context)),
    do_compact: (context) => new Promise((done) => context.compact({ onComplete: done, onError: done })),
    do_model: (context) => pi.setModel(context.modelRegistry.find("mock", "beta")),
    do_thinking: () => pi.setThinkingLevel("high"),
    do_name: () => pi.setSessionName("name"),
    do_ask: (context) => context.ui.confirm("Question", "Continue?"),
    do_ping: (context) => context.ui.notify("pong", "info"),
    do_bad: (context) => enter(context),
  };
  for (const [name, run] of Object.entries(commands)) {
    pi.registerCommand(name, { description: name, handler: async (_: string, context: any) => void (await run(context)) });
  }
  pi.registerTool({
    name: "bad",
    label: "Bad",
    description: "Ignores its signal",
    parameters: { type: "object", properties: {} },
    execute: async (_id: string, _args: any, _signal: any, _update: any, context: any) => enter(context),
  });
}
