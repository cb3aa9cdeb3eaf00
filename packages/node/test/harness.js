// A scripted model, and a temporary home for the agent.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const chunk = (delta, finish = null, usage) => {
  const record = { id: "r", object: "chat.completion.chunk", model: "alpha", choices: [{ index: 0, delta, finish_reason: finish }] };
  return `data: ${JSON.stringify(usage ? { ...record, usage } : record)}\n\n`;
};
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

/** A response with text, in pieces. */
export function text(...pieces) {
  return [...pieces.map((content) => chunk({ content })), chunk({}, "stop", USAGE), "data: [DONE]\n\n"];
}

/** A response that calls a tool. */
export function call(name, args, id = "call_1") {
  const tool = { index: 0, id, type: "function", function: { name, arguments: JSON.stringify(args) } };
  return [chunk({ tool_calls: [tool] }), chunk({}, "tool_calls", USAGE), "data: [DONE]\n\n"];
}

/** A response that never ends. */
export function stalled(piece) {
  return [chunk({ content: piece }), null];
}

/** Starts a model server that sends `replies` in order; `requests` has the bodies it received. */
export async function startModel(...replies) {
  const requests = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => {
      requests.push(JSON.parse(body));
      const reply = replies.shift() ?? text("no more replies");
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const part of reply) if (part !== null) response.write(part);
      if (!reply.includes(null)) response.end();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const home = mkdtempSync(join(tmpdir(), "pi-node-test-"));
  const agentDir = join(home, "agent");
  const cwd = join(home, "project");
  for (const directory of [agentDir, cwd]) mkdirSync(directory, { recursive: true });
  const model = (id) => ({ id, name: id, reasoning: id === "alpha", input: ["text", "image"], contextWindow: 200_000, maxTokens: 8192 });
  const baseUrl = `http://127.0.0.1:${server.address().port}/v1`;
  const mock = { baseUrl, api: "openai-completions", apiKey: "k", models: [model("alpha"), model("beta")] };
  writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { mock } }));
  process.env.PI_CODING_AGENT_DIR = agentDir;
  process.env.PI_OFFLINE = "1";
  process.env.HOME = home;
  return {
    requests,
    agentDir,
    cwd,
    model: { provider: "mock", id: "alpha" },
    close() {
      server.closeAllConnections();
      server.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
