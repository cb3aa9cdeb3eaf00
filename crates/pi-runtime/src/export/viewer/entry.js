// One entry as the reader sees it. Each kind has its own function; all of them take whatever the file
// holds, since other programs and other versions write sessions too.

/** How many lines of output show before the reader asks for more. */
const PREVIEW_LINES = 10;

/** How many characters are laid out at once; the rest comes in steps. */
const OUTPUT_STEP = 400_000;

/** What the reader chose to see everywhere. */
const view = { thinking: false, outputs: false };

const KIND_NAMES = {
  system: "System prompt", user: "User", assistant: "Assistant", toolResult: "Tool result", bash: "Shell",
  custom: "Extension", hidden: "Extension (hidden)", compaction: "Compaction", branchSummary: "Branch summary",
  model: "Model", thinking: "Thinking level", label: "Label", name: "Name", usage: "Usage", edit: "Context edit",
  state: "Extension state", unknown: "Unknown entry", unreadable: "Unreadable entry",
};

/** Builds an entry. `results` holds the results of an answer's calls. */
function renderEntry(session, index, results) {
  const node = session.nodes[index];
  const entry = session.entry(index);
  const render = ENTRY_RENDERERS[node.kind] ?? renderUnknown;
  const body = render(entry, { session, node, results });
  const isNote = NOTE_KINDS.has(node.kind);
  const article = element("article", { class: `entry ${node.kind}${isNote ? " slim" : ""}${node.failed ? " failed" : ""}`, id: `e-${node.id}`, "data-index": index });
  append(article, [entryHead(session, node, isNote), body]);
  return article;
}

function entryHead(session, node, isNote) {
  return element("header", { class: "entry-head" },
    element("span", { class: "who" }, KIND_NAMES[node.kind] ?? node.kind),
    node.label !== undefined && element("span", { class: "label", title: "Label" }, node.label),
    element("a", { class: "anchor", href: `#e-${encodeURIComponent(node.id)}`, title: "Link to this entry" },
      moment(node.time, isNote ? { timeStyle: "short" } : undefined) || "#"));
}

/** Entries that are one line between the messages. */
const NOTE_KINDS = new Set(["model", "thinking", "label", "name", "usage", "edit", "state"]);

const ENTRY_RENDERERS = {
  system: (entry) => renderSystem(entry.message ?? {}),
  user: (entry) => renderContent(entry.message?.content),
  assistant: renderAnswer,
  toolResult: (entry) => renderResult(entry.message ?? {}, entry.message?.toolName),
  bash: (entry) => renderBash(entry.message ?? {}),
  custom: (entry) => renderCustom(entry.message ?? entry),
  hidden: (entry) => renderCustom(entry.message ?? entry),
  compaction: (entry) => renderSummary(entry.message ?? entry, (summary) => `The conversation before this was summarized${summary.tokensBefore ? `; it held ${counting.format(summary.tokensBefore)} tokens` : ""}.`),
  branchSummary: (entry) => renderSummary(entry.message ?? entry, () => "A branch was left here; this is what happened on it."),
  model: (entry) => element("span", null, element("b", null, `${asText(entry.provider)}/${asText(entry.modelId)}`)),
  thinking: (entry) => element("span", null, element("b", null, asText(entry.thinkingLevel))),
  label: renderLabel,
  name: (entry) => element("span", null, asText(entry.name) || "(cleared)"),
  usage: (entry) => element("span", null, `${asText(entry.kind)} · ${asText(entry.provider)}/${asText(entry.model)} · ${usageText(entry.usage)}`),
  edit: renderEdit,
  state: (entry) => folded(asText(entry.customType), () => element("pre", null, asText(entry.data))),
};

function renderLabel(entry, { session }) {
  const target = session.byId.get(entry.targetId);
  const where = target === undefined ? asText(entry.targetId) : session.nodes[target].text ?? asText(entry.targetId);
  return element("span", null, entry.label ? element("span", { class: "label" }, asText(entry.label)) : "(cleared)", " on ", entryLink(asText(entry.targetId), where));
}

function renderEdit(entry) {
  const what = entry.replacement === null || entry.replacement === undefined ? "left out of" : "replaced in";
  return element("span", null, entryLink(asText(entry.targetId), "An entry"), ` was ${what} what the model sees`);
}

function entryLink(id, text) {
  return element("a", { href: `#e-${encodeURIComponent(id)}` }, text);
}

function renderUnknown(entry) {
  return folded(asText(entry.type) || "entry", () => element("pre", null, asText(entry)));
}

/** Builds content of a user or an extension: Markdown and pictures. */
function renderContent(content) {
  return blocksOf(content).map((block) => {
    if (block.type === "text") return markdown(asText(block.text));
    if (block.type === "image") return picture(block.mimeType, block.data, "Picture");
    return renderUnknown(block);
  });
}

function renderAnswer(entry, { session, results }) {
  const message = entry.message ?? {};
  const parts = blocksOf(message.content).map((block) => {
    if (block.type === "text") return asText(block.text).trim() === "" ? undefined : markdown(asText(block.text));
    if (block.type === "thinking") return renderThinking(block);
    if (block.type !== "toolCall") return renderUnknown(block);
    const result = results?.get(block.id);
    return renderCall(block, result === undefined ? undefined : session.entry(result).message ?? {}, result === undefined ? undefined : session.nodes[result]);
  });
  return [parts, answerEnd(message)];
}

function renderThinking(block) {
  const text = asText(block.thinking);
  if (block.redacted || text.trim() === "") return block.redacted ? element("p", { class: "remark" }, "Thinking that the provider keeps to itself") : undefined;
  return element("details", { class: "thought", open: view.thinking }, element("summary", null, "Thinking"), markdown(text));
}

function answerEnd(message) {
  const facts = [asText(message.responseModel ?? message.model), message.usage && usageText(message.usage)];
  const stops = { length: "cut off at the length limit", error: "failed", aborted: "aborted", pending: "not finished", deferred: "deferred" };
  const stop = lookUp(stops, asText(message.stopReason));
  return [
    message.errorMessage && element("p", { class: "error-text" }, terminalText(asText(message.errorMessage))),
    element("footer", { class: "facts" }, facts.filter(Boolean).join(" · "), stop && element("span", { class: "stop" }, stop)),
  ];
}

function usageText(usage) {
  if (usage === null || typeof usage !== "object") return "";
  const parts = [`${shortCount(usage.input)} in`, `${shortCount(usage.output)} out`];
  if (usage.cacheRead) parts.push(`${shortCount(usage.cacheRead)} cached`);
  if (usage.cost?.total) parts.push(dollars(usage.cost.total));
  return parts.join(", ");
}

/** Builds a tool call with its result. */
function renderCall(call, result, resultNode) {
  const input = call.arguments !== null && typeof call.arguments === "object" ? call.arguments : {};
  const name = asText(call.name);
  const state = result === undefined ? "waiting" : result.isError ? "failed" : "done";
  const describe = lookUp(CALL_HEADS, name);
  const head = element("div", { class: "call-head" }, element("b", { class: "call-name" }, name), describe ? describe(input) : undefined,
    resultNode?.label !== undefined && element("span", { class: "label" }, resultNode.label),
    element("span", { class: "call-state" }, { waiting: "no result", failed: "failed", done: "" }[state]));
  const card = element("div", { class: `call ${state}`, id: resultNode && `e-${resultNode.id}` }, head);
  append(card, [callBody(name, input, describe !== undefined), result && renderResult(result, name)]);
  return card;
}

const path = (input) => element("code", { class: "path" }, asText(input.path ?? input.file_path));

const CALL_HEADS = {
  bash: (input) => input.timeout && element("span", { class: "remark" }, `up to ${asText(input.timeout)} s`),
  read: (input) => [path(input), rangeOf(input)],
  write: path,
  edit: path,
  ls: path,
  grep: (input) => [element("code", null, asText(input.pattern)), input.path && [" in ", path(input)], input.glob && element("code", null, asText(input.glob))],
  find: (input) => [element("code", null, asText(input.pattern)), input.path && [" in ", path(input)]],
};

function rangeOf({ offset, limit }) {
  if (offset === undefined && limit === undefined) return undefined;
  const from = Number(offset ?? 1);
  return element("span", { class: "remark" }, limit === undefined ? `from line ${from}` : `lines ${from}–${from + Number(limit) - 1}`);
}

function callBody(name, input, isKnown) {
  if (name === "bash") return element("pre", { class: "command" }, plainText(asText(input.command)));
  if (name === "write") return outputBlock(asText(input.content), (text) => document.createTextNode(plainText(text)));
  if (isKnown) return undefined;
  const text = asText(input);
  return text === "{}" ? undefined : outputBlock(text, (shown) => document.createTextNode(plainText(shown)));
}

/** Builds what a tool returned. */
function renderResult(result, name) {
  const parts = [];
  const diff = result.details?.diff;
  for (const block of blocksOf(result.content)) {
    if (block.type === "image") parts.push(picture(block.mimeType, block.data, "Picture from the tool"));
    else if (block.type !== "text") parts.push(renderUnknown(block));
    // A successful edit says no more than its changes show.
    else if (!(name === "edit" && typeof diff === "string" && !result.isError)) parts.push(outputBlock(settleLines(asText(block.text)), terminalText));
  }
  if (typeof diff === "string") parts.push(outputBlock(plainText(diff), diffLines, "diff"));
  return element("div", { class: `result${result.isError ? " failed" : ""}` }, parts);
}

function renderBash(message) {
  const facts = [
    message.cancelled && "cancelled",
    message.exitCode !== undefined && message.exitCode !== 0 && `exit code ${asText(message.exitCode)}`,
    message.truncated && `output cut${message.fullOutputPath ? `; all of it was in ${asText(message.fullOutputPath)}` : ""}`,
    message.excludeFromContext && "not shown to the model",
  ].filter(Boolean);
  return [
    element("pre", { class: "command" }, plainText(asText(message.command))),
    outputBlock(settleLines(asText(message.output)), terminalText),
    facts.length > 0 && element("footer", { class: "facts" }, facts.join(" · ")),
  ];
}

function renderCustom(message) {
  return [element("span", { class: "remark" }, asText(message.customType)), renderContent(message.content)];
}

function renderSummary(summary, lead) {
  return [element("p", { class: "remark" }, lead(summary)), folded("Summary", () => markdown(asText(summary.summary)), true)];
}

function renderSystem(message) {
  const sections = Object.entries(message.sections ?? {});
  return [
    blocksOf(message.content).map((block) => outputBlock(asText(block.text), (text) => document.createTextNode(plainText(text)))),
    sections.map(([name, text]) => folded(text === null ? `${name} (removed)` : name, () => element("pre", { class: "plain" }, plainText(asText(text))))),
    toolList(message.toolsAdded ?? [], "Tools added"),
    (message.toolsRemoved ?? []).length > 0 && element("p", { class: "remark" }, `Tools removed: ${message.toolsRemoved.map((tool) => asText(tool?.name ?? tool)).join(", ")}`),
  ];
}

/** Builds a list of tool declarations. */
function toolList(tools, title) {
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  return folded(`${title} (${tools.length})`, () => tools.map((tool) => element("div", { class: "tool" },
    element("b", null, asText(tool?.name)), element("p", null, plainText(asText(tool?.description))),
    folded("Arguments", () => element("pre", null, asText(tool?.parameters))))));
}

/** Builds a fold whose inside is made when it is first opened. */
function folded(title, inside, isOpen = false) {
  const details = element("details", { class: "fold", open: isOpen }, element("summary", null, title));
  const fill = () => append(details, [inside()].flat());
  if (isOpen) fill();
  else details.addEventListener("toggle", fill, { once: true });
  return details;
}

/** Builds a text of any length: its beginning, and the rest on request. */
function outputBlock(text, build, style = "") {
  const trimmed = text.replace(/\n+$/, "");
  if (trimmed === "") return undefined;
  const preview = firstLines(trimmed, PREVIEW_LINES);
  const pre = element("pre", { class: `output ${style}` });
  const block = element("div", { class: "output-block" }, pre);
  const isWhole = preview.length === trimmed.length;
  let shown = 0;
  const show = (length) => {
    shown = Math.min(length, trimmed.length);
    pre.replaceChildren(build(trimmed.slice(0, shown)));
    button.textContent = shown < preview.length + 1 ? `Show all ${counting.format(countLines(trimmed))} lines` : shown < trimmed.length ? "Show more" : "Show less";
  };
  const button = element("button", { type: "button", class: "more", click: () => show(shown >= trimmed.length ? preview.length : shown + OUTPUT_STEP) });
  show(view.outputs ? OUTPUT_STEP : preview.length);
  if (!isWhole) {
    block.append(button);
    block.showAll = (isShown) => show(isShown ? OUTPUT_STEP : preview.length);
    block.classList.add("foldable");
  }
  block.append(copyButton(() => plainText(trimmed)));
  return block;
}

/** Returns the first lines of a text, cut where they are very long. */
function firstLines(text, count) {
  let end = -1;
  for (let line = 0; line < count; line++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) return text.length > OUTPUT_STEP ? text.slice(0, 2000) : text;
  }
  return text.slice(0, Math.min(end, 4000));
}

function countLines(text) {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** Builds a button that copies a text. */
function copyButton(text) {
  const button = element("button", { type: "button", class: "copy", title: "Copy" }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "copied";
    } catch {
      button.textContent = "not allowed";
    }
    setTimeout(() => { button.textContent = "copy"; }, 1200);
  });
  return button;
}

/** Opens or closes thoughts and outputs everywhere they are shown. */
function applyView(root) {
  for (const thought of root.querySelectorAll("details.thought")) thought.open = view.thinking;
  for (const block of root.querySelectorAll(".output-block.foldable")) block.showAll(view.outputs);
}
