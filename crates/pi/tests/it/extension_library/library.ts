// Uses the library API available to extensions: message and dialog components, an RPC client that starts another pi,
// and session runtimes. The results are written to the working directory.
import {
  AssistantMessageComponent,
  BashExecutionComponent,
  BranchSummaryMessageComponent,
  CompactionSummaryMessageComponent,
  convertToPng,
  createAgentSessionFromServices,
  createAgentSessionRuntime,
  createAgentSessionServices,
  CustomMessageComponent,
  ExtensionEditorComponent,
  ExtensionInputComponent,
  ExtensionSelectorComponent,
  RpcClient,
  SessionManager,
  ShowImagesSelectorComponent,
  SkillInvocationMessageComponent,
  ThemeSelectorComponent,
  ThinkingSelectorComponent,
  ToolExecutionComponent,
  UserMessageComponent,
  UserMessageSelectorComponent,
} from "@earendil-works/pi-coding-agent";
import { getKeybindings, ProcessTerminal, StdinBuffer, stripTerminalSequences, Text } from "@earendil-works/pi-tui";
import { writeFileSync } from "node:fs";

const tui: any = { requestRender() {}, terminal: { rows: 24, columns: 60 } };
const renderPlain = (component: any) => component.render(60).map((line: string) => stripTerminalSequences(line).trim()).filter((line: string) => line !== "" && !/^─+$/.test(line));
const [UP, DOWN, END, ENTER, ESCAPE] = ["\u001b[A", "\u001b[B", "\u001b[F", "\r", "\u001b"];

function messages() {
  const message = { role: "assistant", stopReason: "stop", content: [{ type: "thinking", thinking: "One." }, { type: "thinking", thinking: "Two." }, { type: "text", text: "**Answer**" }] };
  const assistant = new AssistantMessageComponent(message as any);
  const visible = renderPlain(assistant);
  assistant.setHideThinkingBlock(true);
  const hidden = renderPlain(assistant);
  assistant.updateContent({ ...message, stopReason: "error", errorMessage: "connection failed", content: [] } as any);
  const custom = { role: "custom", customType: "note", content: "plain", display: true };
  const failingRenderer = () => {
    throw new Error("render failed");
  };
  const summary = new CompactionSummaryMessageComponent({ summary: "the summary", tokensBefore: 1234 } as any);
  const collapsed = renderPlain(summary);
  summary.setExpanded(true);
  return {
    user: renderPlain(new UserMessageComponent("1. hello", undefined, 1, [(text) => text.replace("hello", "hi")])),
    visible,
    hidden,
    failed: renderPlain(assistant),
    custom: renderPlain(new CustomMessageComponent(custom as any)),
    rendered: renderPlain(new CustomMessageComponent(custom as any, () => new Text("rendered text", 0, 0))),
    renderFailed: renderPlain(new CustomMessageComponent(custom as any, failingRenderer)),
    collapsed,
    expanded: renderPlain(summary),
    branch: renderPlain(new BranchSummaryMessageComponent({ summary: "the branch" } as any))[0],
    skill: renderPlain(new SkillInvocationMessageComponent({ name: "review", content: "text" } as any))[1].split(" ")[0],
  };
}

function executions() {
  const tool = { renderCall: (args: any, theme: any) => new Text(theme.bold(`dig ${args.depth}`), 0, 0) };
  const call = new ToolExecutionComponent("dig", "call-1", { depth: 2 }, {}, tool as any, tui, "/");
  const pending = renderPlain(call);
  call.updateResult({ content: [{ type: "text", text: Array.from({ length: 12 }, (_, line) => `line ${line}`).join("\n") }], isError: false });
  const result = renderPlain(call);
  call.setExpanded(true);
  const shell = new BashExecutionComponent("ls", tui);
  shell.appendOutput("a\r\n\u001b[31mb");
  shell.appendOutput("c\n");
  shell.setComplete(2, false);
  return {
    pending,
    result: [result.length, result.at(-1)!.startsWith("... 2 more lines")],
    expanded: renderPlain(call).length,
    unknown: renderPlain(new ToolExecutionComponent("other", "call-2", { a: 1 }, undefined, undefined, tui, "/")),
    shell: renderPlain(shell),
    output: shell.getOutput(),
  };
}

function dialogs() {
  const callbacks: unknown[] = [];
  const record = (name: string) => (value?: unknown) => void callbacks.push(value === undefined ? name : [name, value]);
  const type = (component: any, ...keys: string[]) => keys.forEach((key) => component.handleInput(key));
  const selector = new ExtensionSelectorComponent("Which?", ["a", "b", "c"], record("selected"), record("canceled"), { description: "of three" });
  type(selector, DOWN, DOWN, DOWN, UP);
  const lines = renderPlain(selector).slice(0, 5);
  type(selector, ENTER, ESCAPE);
  const input = new ExtensionInputComponent("Name?", "placeholder", record("input"), record("canceled"), { initialValue: "me" });
  input.focused = true;
  type(input, END, "!", ENTER);
  const editor = new ExtensionEditorComponent(tui, getKeybindings() as any, "Text?", "first", record("edited"), record("canceled"));
  editor.focused = true;
  type(editor, "x", ENTER);
  const level = new ThinkingSelectorComponent("low", ["off", "low", "high"], record("level"), record("canceled"));
  type(level, DOWN, ENTER);
  type(new ShowImagesSelectorComponent(true, record("images"), record("canceled")), DOWN, ENTER);
  const themes = new ThemeSelectorComponent("dark", record("theme"), record("canceled"), record("preview"));
  const messages = new UserMessageSelectorComponent([{ id: "1", text: "one" }, { id: "2", text: "two\nlines" }], record("message"), record("canceled"));
  const list = renderPlain(messages);
  type(messages.getMessageList(), UP, ENTER);
  return { lines, callbacks, list, themes: typeof themes.getSelectList().handleInput };
}

async function input() {
  const buffer = new StdinBuffer({ timeout: 5, escapeTimeout: 5 });
  const events: unknown[] = [];
  buffer.on("data", (data) => events.push(data));
  buffer.on("paste", (data) => events.push({ pasted: data }));
  for (const part of ["a\u001b[", "A\u001b[200~one\u001b[20", "1~é", "\u001bOP\u001b[<0;1;2M", "\u001b"]) buffer.process(part);
  await new Promise((resolve) => setTimeout(resolve, 50));
  buffer.process(Buffer.from([0xe1]));
  const terminal = new ProcessTerminal();
  terminal.start(() => {}, () => {});
  terminal.stop();
  return { events, columns: terminal.columns };
}

async function rpcClient() {
  const client = new RpcClient({ provider: "mock", model: "alpha", args: ["--no-session", "--no-extensions"] });
  await client.start();
  const types = new Set<string>();
  const unsubscribe = client.onEvent((event: any) => types.add(event.type));
  const events = await client.promptAndWait("hello");
  unsubscribe();
  const rejected = await client.setModel("unknown", "unknown").catch((error: Error) => error.constructor.name);
  const result = {
    text: await client.getLastAssistantText(),
    model: (await client.getState() as any).model.id,
    last: (events.at(-1) as any).type,
    sameEvents: events.length >= types.size && types.has("message_end"),
    roles: (await client.getMessages()).map((message: any) => message.role).filter((role: string) => role !== "system"),
    shell: (await client.bash("echo out")).output.trim(),
    rejected,
  };
  await client.stop();
  const stopped = await client.getState().catch((error: Error) => error.message);
  return { ...result, stopped };
}

async function sessionRuntime(cwd: string, model: any) {
  const create = async ({ cwd, agentDir, sessionManager }: any) => {
    const services = await createAgentSessionServices({ cwd, agentDir });
    const created = await createAgentSessionFromServices({ services, sessionManager, model, noTools: "all" as any });
    return { ...created, services, diagnostics: services.diagnostics };
  };
  const runtime = await createAgentSessionRuntime(create as any, { cwd, agentDir: process.env.PI_CODING_AGENT_DIR!, sessionManager: SessionManager.create(cwd) });
  const rebound: unknown[] = [];
  runtime.setRebindSession(async (session) => void rebound.push(session === runtime.session));
  await runtime.session.prompt("first");
  const first = runtime.session.getLastAssistantText();
  const file = runtime.session.sessionFile!;
  const messageCount = () => runtime.session.messages.filter((message: any) => message.role !== "system").length;
  const before = messageCount();
  await runtime.newSession();
  const newSession = [messageCount(), runtime.session.sessionFile !== file];
  await runtime.switchSession(file);
  const switchedBack = messageCount() === before;
  await runtime.dispose();
  return { first, newSession, switchedBack, rebound };
}

const GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

export default function (pi: any) {
  pi.on("session_start", async (_event: any, ctx: any) => {
    const png = await convertToPng(GIF, "image/gif");
    const results = {
      messages: messages(),
      executions: executions(),
      dialogs: dialogs(),
      input: await input(),
      rpcClient: await rpcClient(),
      sessionRuntime: await sessionRuntime(ctx.cwd, ctx.model),
      png: [png!.mimeType, Buffer.from(png!.data, "base64").subarray(1, 4).toString(), await convertToPng("AAAA", "image/gif")],
    };
    writeFileSync("results.json", JSON.stringify(results));
  });
}
