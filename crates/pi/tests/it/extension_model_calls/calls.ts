// Calls a model of each API with each form of options, then writes what its callbacks received.
import { writeFileSync } from "node:fs";
import { complete, completeSimple } from "@earendil-works/pi-ai";

const tools = [{ name: "look", description: "Looks", parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] } }];
// Name, whether the options are those of every API, options, tools.
const forms: [string, boolean, any, any?][] = [
  ["nothing", false, {}],
  ["nothing-simple", true, {}],
  ["maxTokens", false, { maxTokens: 100 }],
  ["maxTokens-simple", true, { maxTokens: 100 }],
  ["temperature", false, { temperature: 0.5 }],
  ["reasoning-high", true, { reasoning: "high" }],
  ["reasoning-low-limit", true, { reasoning: "low", maxTokens: 3000 }],
  ["reasoning-raw", false, { reasoning: "high" }],
  ["budgets", true, { reasoning: "high", thinkingBudgets: { high: 5000 } }],
  ["thinking-on", false, { thinkingEnabled: true, thinkingBudgetTokens: 2048, thinking: { enabled: true, budgetTokens: 2048 }, reasoningEffort: "high" }],
  ["thinking-off", false, { thinkingEnabled: false, thinking: { enabled: false } }],
  ["effort", false, { thinkingEnabled: true, effort: "medium", thinking: { enabled: true, level: "LOW" }, reasoningEffort: "low", reasoningSummary: "detailed" }],
  ["display", false, { thinkingEnabled: true, thinkingDisplay: "omitted", interleavedThinking: false, serviceTier: "flex" }],
  ["choice-any", false, { toolChoice: "any" }, tools],
  ["choice-required", false, { toolChoice: "required" }, tools],
  ["cache-none", false, { cacheRetention: "none", sessionId: "s1" }],
  ["cache-long", false, { cacheRetention: "long", sessionId: "s1" }],
  ["metadata", false, { metadata: { user_id: "u1" }, headers: { "x-own": "1" } }, tools],
];

const APIS = ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];

export default function (pi: any) {
  pi.registerCommand("calls", {
    handler: async (_args: string, ctx: any) => {
      const messages = [{ role: "user", content: "hi", timestamp: 1 }];
      for (const api of APIS) {
        const model = ctx.modelRegistry.find(api, "think");
        for (const [, simple, options, tools] of forms) {
          await (simple ? completeSimple : complete)(model, { systemPrompt: "S", messages, tools }, options);
        }
      }
      const seen: unknown[] = [];
      const model = ctx.modelRegistry.find("openai-completions", "think");
      const response = await complete(model, { messages }, {
        onPayload: (payload: any) => {
          seen.push(payload.model);
          return { ...payload, temperature: 0.25 };
        },
        onResponse: ({ status, headers }: any) => void seen.push([status, headers["content-type"]]),
      });
      seen.push(response.content[0].text);
      writeFileSync("results.json", JSON.stringify({ forms: forms.map(([name]) => name), seen }));
    },
  });
}
