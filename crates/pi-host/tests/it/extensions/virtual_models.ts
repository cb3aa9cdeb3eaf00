// A router that answers with one of two models and counts the requests of users.
import { createAgentSession, SessionManager } from "@earendil-works/pi-coding-agent";
import { writeFileSync } from "node:fs";

const seen = [];

export default function (pi) {
  pi.registerVirtualModel({
    provider: "router",
    id: "auto",
    name: "Auto",
    thinkingLevels: ["off", "high"],
    contextWindow: 90000,
    async route(request, ctx) {
      const { reason, thinkingLevel, state, messages } = request;
      seen.push({ reason, thinkingLevel, state: state ?? null, roles: messages.map((message) => message.role), previous: request.previous?.model.id ?? null, failed: request.failed?.message.stopReason ?? null, aborted: request.signal.aborted });
      writeFileSync(`${ctx.cwd}/results.json`, JSON.stringify(seen));
      if (JSON.stringify(messages).includes("fail now")) throw new Error("no budget left");
      const next = reason === "user" ? { count: (state?.count ?? 0) + 1 } : state;
      return { model: ctx.modelRegistry.find("faux", "thinks"), thinkingLevel: "high", state: next };
    },
  });
  pi.registerCommand("ask", {
    handler: async (_args, ctx) => {
      const answer = await ctx.modelRegistry.completeSimple(ctx.model, { messages: [{ role: "user", content: "directly", timestamp: 1 }] }, {});
      seen.push({ answered: answer.model, text: answer.content[0].text });
      writeFileSync(`${ctx.cwd}/results.json`, JSON.stringify(seen));
    },
  });
  pi.registerCommand("nested", {
    handler: async (_args, ctx) => {
      const { session } = await createAgentSession({ cwd: ctx.cwd, model: ctx.model, sessionManager: SessionManager.inMemory(ctx.cwd) });
      await session.prompt("nested");
      const { model, thinkingLevel } = session.routedModel ?? {};
      writeFileSync(`${ctx.cwd}/results.json`, JSON.stringify([session.model?.id, model?.id, thinkingLevel]));
      await session.dispose();
    },
  });
  pi.registerCommand("gone", { handler: async () => pi.unregisterVirtualModel("router", "auto") });
}
