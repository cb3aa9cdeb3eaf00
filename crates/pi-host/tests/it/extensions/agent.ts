import { Agent } from "@earendil-works/pi-agent-core";
import { createAgentSession, SessionManager } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export default function (pi: any) {
  pi.registerCommand("go", {
    handler: async (_args: string, ctx: any) => {
      const called: any[] = [];
      const lookup = {
        name: "lookup",
        label: "Lookup",
        description: "Looks up",
        parameters: Type.Object({ what: Type.String() }),
        execute: async (_id: string, args: any) => (called.push(args), { content: [{ type: "text", text: "found" }], details: {} }),
      };
      const { session } = await createAgentSession({
        cwd: ctx.cwd,
        model: ctx.model,
        tools: ["lookup"],
        customTools: [lookup as any],
        sessionManager: SessionManager.inMemory(ctx.cwd),
      });
      const events: string[] = [];
      session.subscribe((event: any) => void events.push(event.type));
      await session.prompt("look it up");
      const results: any = {
        text: session.getLastAssistantText(),
        called,
        tools: session.getActiveToolNames(),
        roles: session.messages.map((message: any) => message.role).filter((role: string) => role !== "system"),
        events,
        file: session.sessionFile ?? null,
      };
      await session.dispose();
      const agent = new Agent({ initialState: { model: ctx.model, systemPrompt: "Loop" } });
      await agent.prompt("again");
      results.loop = agent.state.messages.at(-1).content[0].text;
      writeFileSync(join(ctx.cwd, "results.json"), JSON.stringify(results));
    },
  });
}
