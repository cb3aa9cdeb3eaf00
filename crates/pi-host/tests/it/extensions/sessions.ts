import { SessionManager } from "@earendil-works/pi-coding-agent";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const texts = (context: any) => context.messages.map((message: any) => (typeof message.content === "string" ? message.content : message.content[0].text));

export default function (pi: any) {
  pi.registerCommand("go", {
    handler: async (_args: string, ctx: any) => {
      const folder = join(ctx.cwd, "sessions");
      const session = SessionManager.create(ctx.cwd, folder);
      const first = session.appendMessage({ role: "user", content: "hello", timestamp: 1 } as any);
      const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
      session.appendMessage({ role: "assistant", content: [{ type: "text", text: "hi" }], api: "faux", provider: "faux", model: "thinks", usage, stopReason: "stop", timestamp: 2 } as any);
      const custom = session.getEntry(session.appendCustomEntry("state", { n: 1 }));
      session.appendSessionInfo("named");
      session.appendLabelChange(first, "mark");
      const results: any = { context: texts(session.buildSessionContext()), name: session.getSessionName(), label: session.getLabel(first), custom: custom.data };
      const path = session.getSessionFile()!;
      const listed = await SessionManager.list(ctx.cwd, folder);
      results.listed = listed.map((info: any) => [info.name, info.messageCount, info.firstMessage]);
      results.reopened = texts(SessionManager.inMemory(ctx.cwd, {}, session.getEntries() as any).buildSessionContext());
      session.branch(first);
      results.afterBranch = texts(session.buildSessionContext());
      results.memoryFile = SessionManager.inMemory().getSessionFile() ?? null;
      results.path = path;
      writeFileSync(join(ctx.cwd, "results.json"), JSON.stringify(results));
    },
  });
}
