// Runs a scenario with the client of the official SDK and prints what it saw.
// Arguments: the module of the SDK, the binary, the working directory, the scenario as JSON.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [module, binary, cwd, input] = process.argv.slice(2);
const scenario = JSON.parse(input);
const acp = await import(pathToFileURL(module));
const report = { text: "", replayed: "", commands: 0, permissions: 0 };
let isReplaying = false;
let sessionId;
let cancel;

async function withAgent(work) {
  const agent = spawn(binary, ["acp"], { stdio: ["pipe", "pipe", "inherit"], cwd });
  const ended = new Promise((resolve) => agent.once("exit", resolve));
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  await acp
    .client({ name: "test" })
    .onNotification(acp.methods.client.session.update, async ({ params: { update } }) => {
      if (update.sessionUpdate === "available_commands_update") report.commands = update.availableCommands.length;
      if (update.sessionUpdate === "agent_message_chunk") report[isReplaying ? "replayed" : "text"] += update.content.text;
      const diff = update.content?.find?.((item) => item.type === "diff");
      if (diff && !isReplaying) report.diff = diff;
      if (scenario.cancel && !isReplaying && update.sessionUpdate === "agent_message_chunk") await cancel();
    })
    .onRequest(acp.methods.client.session.requestPermission, () => {
      report.permissions += 1;
      return { outcome: { outcome: "selected", optionId: scenario.permission } };
    })
    .connectWith(stream, async (context) => {
      cancel = () => context.notify(acp.methods.agent.session.cancel, { sessionId });
      const client = { protocolVersion: 1, clientCapabilities: { elicitation: {} } };
      await context.request(acp.methods.agent.initialize, client);
      await work(context);
    });
  agent.stdin.end();
  if ((await ended) !== 0) throw new Error("the agent failed");
}

await withAgent(async (context) => {
  ({ sessionId } = await context.request(acp.methods.agent.session.new, { cwd, mcpServers: [] }));
  if (scenario.thinking) {
    const option = { sessionId, configId: "thinking", value: scenario.thinking };
    await context.request(acp.methods.agent.session.setConfigOption, option);
  }
  const prompt = [{ type: "text", text: "Write a file" }];
  const { stopReason } = await context.request(acp.methods.agent.session.prompt, { sessionId, prompt });
  report.stopReason = stopReason;
});
await withAgent(async (context) => {
  isReplaying = true;
  await context.request(acp.methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
  await context.request(acp.methods.agent.session.close, { sessionId });
  await context.request(acp.methods.agent.session.resume, { sessionId, cwd, mcpServers: [] });
  report.resumed = true;
});
console.log(JSON.stringify(report));
