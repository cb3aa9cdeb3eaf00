// Parts of the program that extensions can use by themselves: components of messages and dialogs, another pi as a
// program, agents whose session can be replaced. What they do is written into the working folder.
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

const screen: any = { requestRender() {}, terminal: { rows: 24, columns: 60 } };
const seen = (component: any) => component.render(60).map((line: string) => stripTerminalSequences(line).trim()).filter((line: string) => line !== "" && !/^─+$/.test(line));
const [UP, DOWN, END, ENTER, ESCAPE] = ["\u001b[A", "\u001b[B", "\u001b[F", "\r", "\u001b"];

function messages() {
  const thought = { role: "assistant", stopReason: "stop", content: [{ type: "thinking", thinking: "One." }, { type: "thinking", thinking: "Two." }, { type: "text", text: "**Answer**" }] };
  const answer = new AssistantMessageComponent(thought as any);
  const open = seen(answer);
  answer.setHideThinkingBlock(true);
  const hidden = seen(answer);
  answer.updateContent({ ...thought, stopReason: "error", errorMessage: "no route", content: [] } as any);
  const custom = { role: "custom", customType: "note", content: "plain", display: true };
  const failing = () => {
    throw new Error("cannot draw");
  };
  const summary = new CompactionSummaryMessageComponent({ summary: "what was", tokensBefore: 1234 } as any);
  const folded = seen(summary);
  summary.setExpanded(true);
  return {
    user: seen(new UserMessageComponent("1. hello", undefined, 1, [(text) => text.replace("hello", "hi")])),
    open,
    hidden,
    failed: seen(answer),
    custom: seen(new CustomMessageComponent(custom as any)),
    drawn: seen(new CustomMessageComponent(custom as any, () => new Text("own", 0, 0))),
    notDrawn: seen(new CustomMessageComponent(custom as any, failing)),
    folded,
    expanded: seen(summary),
    branch: seen(new BranchSummaryMessageComponent({ summary: "there" } as any))[0],
    skill: seen(new SkillInvocationMessageComponent({ name: "review", content: "text" } as any))[1].split(" ")[0],
  };
}

function executions() {
  const tool = { renderCall: (args: any, theme: any) => new Text(theme.bold(`dig ${args.depth}`), 0, 0) };
  const call = new ToolExecutionComponent("dig", "call-1", { depth: 2 }, {}, tool as any, screen, "/");
  const pending = seen(call);
  call.updateResult({ content: [{ type: "text", text: Array.from({ length: 12 }, (_, line) => `line ${line}`).join("\n") }], isError: false });
  const result = seen(call);
  call.setExpanded(true);
  const shell = new BashExecutionComponent("ls", screen);
  shell.appendOutput("a\r\n\u001b[31mb");
  shell.appendOutput("c\n");
  shell.setComplete(2, false);
  return {
    pending,
    result: [result.length, result.at(-1)!.startsWith("... 2 more lines")],
    expanded: seen(call).length,
    unknown: seen(new ToolExecutionComponent("other", "call-2", { a: 1 }, undefined, undefined, screen, "/")),
    shell: seen(shell),
    output: shell.getOutput(),
  };
}

function dialogs() {
  const heard: unknown[] = [];
  const hear = (what: string) => (value?: unknown) => void heard.push(value === undefined ? what : [what, value]);
  const type = (component: any, ...keys: string[]) => keys.forEach((key) => component.handleInput(key));
  const choice = new ExtensionSelectorComponent("Which?", ["a", "b", "c"], hear("chosen"), hear("left"), { description: "of three" });
  type(choice, DOWN, DOWN, DOWN, UP);
  const shown = seen(choice).slice(0, 5);
  type(choice, ENTER, ESCAPE);
  const line = new ExtensionInputComponent("Name?", "nobody", hear("named"), hear("left"), { initialValue: "me" });
  line.focused = true;
  type(line, END, "!", ENTER);
  const text = new ExtensionEditorComponent(screen, getKeybindings() as any, "Text?", "first", hear("written"), hear("left"));
  text.focused = true;
  type(text, "x", ENTER);
  const level = new ThinkingSelectorComponent("low", ["off", "low", "high"], hear("level"), hear("left"));
  type(level, DOWN, ENTER);
  type(new ShowImagesSelectorComponent(true, hear("images"), hear("left")), DOWN, ENTER);
  const themes = new ThemeSelectorComponent("dark", hear("theme"), hear("left"), hear("preview"));
  const said = new UserMessageSelectorComponent([{ id: "1", text: "one" }, { id: "2", text: "two\nlines" }], hear("message"), hear("left"));
  const list = seen(said);
  type(said.getMessageList(), UP, ENTER);
  return { shown, heard, list, themes: typeof themes.getSelectList().handleInput };
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

async function another() {
  const client = new RpcClient({ provider: "mock", model: "alpha", args: ["--no-session", "--no-extensions"] });
  await client.start();
  const types = new Set<string>();
  const forget = client.onEvent((event: any) => types.add(event.type));
  const events = await client.promptAndWait("hello");
  forget();
  const refused = await client.setModel("nobody", "nothing").catch((error: Error) => error.constructor.name);
  const result = {
    text: await client.getLastAssistantText(),
    model: (await client.getState() as any).model.id,
    last: (events.at(-1) as any).type,
    same: events.length >= types.size && types.has("message_end"),
    roles: (await client.getMessages()).map((message: any) => message.role).filter((role: string) => role !== "system"),
    shell: (await client.bash("echo out")).output.trim(),
    refused,
  };
  await client.stop();
  const gone = await client.getState().catch((error: Error) => error.message);
  return { ...result, gone };
}

async function replaced(cwd: string, model: any) {
  const create = async ({ cwd, agentDir, sessionManager }: any) => {
    const services = await createAgentSessionServices({ cwd, agentDir });
    const made = await createAgentSessionFromServices({ services, sessionManager, model, noTools: "all" as any });
    return { ...made, services, diagnostics: services.diagnostics };
  };
  const runtime = await createAgentSessionRuntime(create as any, { cwd, agentDir: process.env.PI_CODING_AGENT_DIR!, sessionManager: SessionManager.create(cwd) });
  const rebound: unknown[] = [];
  runtime.setRebindSession(async (session) => void rebound.push(session === runtime.session));
  await runtime.session.prompt("first");
  const first = runtime.session.getLastAssistantText();
  const file = runtime.session.sessionFile!;
  const talk = () => runtime.session.messages.filter((message: any) => message.role !== "system").length;
  const said = talk();
  await runtime.newSession();
  const fresh = [talk(), runtime.session.sessionFile !== file];
  await runtime.switchSession(file);
  const back = talk() === said;
  await runtime.dispose();
  return { first, fresh, back, rebound };
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
      another: await another(),
      replaced: await replaced(ctx.cwd, ctx.model),
      png: [png!.mimeType, Buffer.from(png!.data, "base64").subarray(1, 4).toString(), await convertToPng("AAAA", "image/gif")],
    };
    writeFileSync("results.json", JSON.stringify(results));
  });
}
