// Renders one entry. Each kind has its own function, and all of them accept malformed data, since other
// programs and versions write sessions too.

import { coloredCode, languageOf } from "./code_colors.js";
import { append, asText, blocksOf, copyButton, element, formatCost, formatCount, formatDuration, formatTime, imageElement, lookup, numberFormat } from "./element.js";
import { diffLines, markdown } from "./markdown.js";
import { applyCarriageReturns, plainText, terminalText } from "./terminal_text.js";

/** Number of output lines shown initially. */
const PREVIEW_LINES = 10;

/** Number of lines of a diff shown initially on exported pages, which are read from top to bottom. */
const EXPORTED_DIFF_LINES = 500;
/** Number of lines of a diff shown initially on the live page. */
const DIFF_PREVIEW_LINES = 40;

/** Number of characters added per step when showing more output. */
const OUTPUT_STEP = 400_000;

/** Number of characters at the end of a running call's output that are shown. */
const TAIL_LENGTH = 8_000;

/**
 * View options for all entries. The live page adds durations, folding and numbered diffs.
 * @type {{ thinking: boolean, outputs: boolean, hidden: boolean, isLive: boolean, diff: (text: string) => Node }}
 */
/** Settings of the page. `draw` replaces the body of an element by what an extension draws. */
export const view = { draw: (_element, _row) => {}, thinking: false, outputs: false, hidden: false, isLive: false, diff: diffLines };

export const KIND_NAMES = {
  system: "System prompt", user: "User", assistant: "Assistant", toolResult: "Tool result", bash: "Shell",
  custom: "Extension", hidden: "Extension (hidden)", compaction: "Compaction", branchSummary: "Branch summary",
  model: "Model", thinking: "Thinking level", label: "Label", name: "Name", usage: "Usage", edit: "Context edit",
  state: "Extension state", unknown: "Unknown entry", unreadable: "Unreadable entry",
};

/** Renders an entry. `results` maps the calls of a response to their results. */
export function renderEntry(session, index, results) {
  return renderNode(session, session.nodes[index], session.entry(index), results, index);
}

/** Renders an entry that may not be part of the session yet. */
export function renderNode(session, node, entry, results, index) {
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
      formatTime(node.time, !isNote) || "#"));
}

/** Entries shown as a single line. */
const NOTE_KINDS = new Set(["model", "thinking", "label", "name", "usage", "edit", "state"]);

const ENTRY_RENDERERS = {
  system: (entry) => renderSystem(entry.message ?? {}),
  user: (entry) => renderContent(entry.message?.content),
  assistant: renderAssistant,
  toolResult: (entry) => renderResult(entry.message ?? {}, entry.message?.toolName),
  bash: (entry) => renderBash(entry.message ?? {}),
  custom: (entry) => renderCustom(entry.message ?? entry),
  hidden: (entry) => renderCustom(entry.message ?? entry),
  compaction: (entry) => renderSummary(entry.message ?? entry, (summary) => `The conversation before this point was summarized${summary.tokensBefore ? `; it had ${numberFormat.format(summary.tokensBefore)} tokens` : ""}.`),
  branchSummary: (entry) => renderSummary(entry.message ?? entry, () => "Summary of a branch that was left here."),
  model: (entry) => element("span", null, element("b", null, `${asText(entry.provider)}/${asText(entry.modelId)}`)),
  thinking: (entry) => element("span", null, element("b", null, asText(entry.thinkingLevel))),
  label: renderLabel,
  name: (entry) => element("span", null, asText(entry.name) || "(cleared)"),
  usage: (entry) => element("span", null, `${asText(entry.kind)} · ${asText(entry.provider)}/${asText(entry.model)} · ${usageText(entry.usage)}`),
  edit: renderEdit,
  state: renderState,
};

function renderLabel(entry, { session }) {
  const target = session.byId.get(entry.targetId);
  const where = target === undefined ? asText(entry.targetId) : session.nodes[target].text ?? asText(entry.targetId);
  return element("span", null, entry.label ? element("span", { class: "label" }, asText(entry.label)) : "(cleared)", " on ", entryLink(asText(entry.targetId), where));
}

function renderEdit(entry) {
  const what = entry.replacement === null || entry.replacement === undefined ? "removed from" : "replaced in";
  return element("span", null, entryLink(asText(entry.targetId), "An entry"), ` was ${what} the model's context`);
}

function entryLink(id, text) {
  return element("a", { href: `#e-${encodeURIComponent(id)}` }, text);
}

function renderUnknown(entry) {
  return folded(asText(entry.type) || "entry", () => element("pre", null, asText(entry)));
}

/** Renders content of a user or an extension: Markdown and images. */
export function renderContent(content) {
  return blocksOf(content).map((block) => {
    if (block.type === "text") return markdown(asText(block.text));
    if (block.type === "image") return imageElement(block.mimeType, block.data, "Image");
    return renderUnknown(block);
  });
}

function renderAssistant(entry, { session, results }) {
  const message = entry.message ?? {};
  const parts = blocksOf(message.content).map((block) => {
    if (block.type === "text") return asText(block.text).trim() === "" ? undefined : markdown(asText(block.text));
    if (block.type === "thinking") return renderThinking(block);
    if (block.type !== "toolCall") return renderUnknown(block);
    const result = results?.get(block.id);
    if (result === undefined) return renderCall(block, undefined, undefined, session.openCall?.(block.id));
    return renderCall(block, session.entry(result).message ?? {}, session.nodes[result]);
  });
  return [parts, renderFooter(message)];
}

function renderThinking(block) {
  const text = asText(block.thinking);
  if (block.redacted || text.trim() === "") return block.redacted ? element("p", { class: "note" }, "Thinking redacted by the provider") : undefined;
  return element("details", { class: "thinking-block", open: view.thinking }, element("summary", null, "Thinking"), markdown(text));
}

function renderFooter(message) {
  const facts = [asText(message.responseModel ?? message.model), message.usage && usageText(message.usage)];
  const stops = { length: "cut off at the length limit", error: "failed", aborted: "aborted", pending: "not finished", deferred: "deferred" };
  const stop = lookup(stops, asText(message.stopReason));
  return [
    message.errorMessage && element("p", { class: "error-text" }, terminalText(asText(message.errorMessage))),
    element("footer", { class: "facts" }, facts.filter(Boolean).join(" · "), stop && element("span", { class: "stop" }, stop)),
  ];
}

export function usageText(usage) {
  if (usage === null || typeof usage !== "object") return "";
  const parts = [`${formatCount(usage.input)} in`, `${formatCount(usage.output)} out`];
  if (usage.cacheRead) parts.push(`${formatCount(usage.cacheRead)} cached`);
  if (usage.cost?.total) parts.push(formatCost(usage.cost.total));
  return parts.join(", ");
}

/**
 * Renders a tool call with its result. `open` is the state of a call whose result is not among the entries yet.
 * @param {any} call
 * @param {any} [result]
 * @param {any} [resultNode]
 * @param {{ isRunning: boolean, result?: any }} [open]
 */
export function renderCall(call, result, resultNode, open) {
  const input = call.arguments !== null && typeof call.arguments === "object" ? call.arguments : {};
  const name = asText(call.name);
  const isRunning = result === undefined && open?.isRunning === true;
  const final = result ?? (isRunning ? undefined : open?.result);
  const state = isRunning ? "running" : final === undefined ? "waiting" : final.isError ? "failed" : "done";
  const describe = lookup(CALL_HEADS, name);
  const head = element("div", { class: "call-head" }, element("b", { class: "call-name" }, name), describe ? describe(input) : undefined,
    resultNode?.label !== undefined && element("span", { class: "label" }, resultNode.label),
    element("span", { class: "call-state" }, { running: "running", waiting: "no result", failed: "failed", done: "" }[state], view.isLive && final?.durationMs !== undefined && element("span", null, formatDuration(final.durationMs))));
  const card = element("div", { class: `call ${state}`, id: resultNode && `e-${resultNode.id}`, "data-call": view.isLive && asText(call.id) }, head);
  append(card, [callBody(name, input, describe !== undefined), isRunning ? renderPartial(open?.result) : final && renderResult(final, name, input)]);
  const shown = final ?? open?.result;
  view.draw(card, { kind: "tool", toolCallId: asText(call.id), toolName: name, args: input, result: shown && { content: shown.content, details: shown.details }, isPartial: final === undefined, isError: final?.isError === true, durationMs: final?.durationMs });
  return card;
}

/** Renders the end of what a running call has written. */
function renderPartial(result) {
  const text = blocksOf(result?.content).filter((block) => block.type === "text").map((block) => asText(block.text)).join("\n");
  const lines = applyCarriageReturns(text.slice(-TAIL_LENGTH)).replace(/\n+$/, "").split("\n").slice(-PREVIEW_LINES);
  if (lines.join("") === "") return undefined;
  return element("div", { class: "result" }, element("div", { class: "output-block" }, element("pre", { class: "output tail" }, terminalText(lines.join("\n")))));
}

const pathOf = (input) => asText(input.path ?? input.file_path);
const path = (input) => element("code", { class: "path" }, pathOf(input));

const CALL_HEADS = {
  bash: (input) => input.timeout && element("span", { class: "note" }, `up to ${asText(input.timeout)} s`),
  read: (input) => [path(input), rangeOf(input)],
  write: path,
  edit: path,
  ls: path,
  grep: (input) => [element("code", null, asText(input.pattern)), input.path && [" in ", path(input)], input.glob && element("code", null, asText(input.glob))],
  find: (input) => [element("code", null, asText(input.pattern)), input.path && [" in ", path(input)]],
};

/** Names a call on one line, such as `[read: src/main.rs:10-40]`. */
export function callLine({ name, arguments: input }) {
  const { offset, limit } = input ?? {};
  const from = Number(offset ?? 1);
  const range = offset === undefined && limit === undefined ? "" : `:${from}${limit === undefined ? "" : `-${from + Number(limit) - 1}`}`;
  const what = pathOf(input ?? {}) ? pathOf(input) + range : asText(input?.command ?? input?.pattern ?? input?.query ?? input?.url);
  return plainText(`[${asText(name)}${what === "" ? "" : `: ${what}`}]`.replace(/\s+/g, " ").slice(0, 200));
}

function rangeOf({ offset, limit }) {
  if (offset === undefined && limit === undefined) return undefined;
  const from = Number(offset ?? 1);
  return element("span", { class: "note" }, limit === undefined ? `from line ${from}` : `lines ${from}–${from + Number(limit) - 1}`);
}

function callBody(name, input, isKnown) {
  if (name === "bash") return element("pre", { class: "command" }, plainText(asText(input.command)));
  if (name === "write") return outputBlock(plainText(asText(input.content)), (text) => coloredCode(text, languageOf(pathOf(input))));
  if (isKnown) return undefined;
  const text = asText(input);
  return text === "{}" ? undefined : outputBlock(text, (shown) => document.createTextNode(plainText(shown)));
}

/** Renders a tool result. */
export function renderResult(result, name, input = {}) {
  const parts = [];
  const build = name === "read" && !result.isError ? (text) => coloredCode(plainText(text), languageOf(pathOf(input))) : terminalText;
  const diff = result.details?.diff;
  for (const block of blocksOf(result.content)) {
    if (block.type === "image") parts.push(imageElement(block.mimeType, block.data, "Image from the tool"));
    else if (block.type !== "text") parts.push(renderUnknown(block));
    // The text of a successful edit repeats what the diff shows.
    else if (!(name === "edit" && typeof diff === "string" && !result.isError)) parts.push(outputBlock(applyCarriageReturns(asText(block.text)), build, "", name === "bash" ? lastLines : firstLines));
  }
  if (typeof diff === "string") parts.push(outputBlock(plainText(diff), view.diff, "diff", (text) => firstLines(text, view.isLive ? DIFF_PREVIEW_LINES : EXPORTED_DIFF_LINES)));
  return element("div", { class: `result${result.isError ? " failed" : ""}` }, parts);
}

function renderBash(message) {
  const facts = [
    message.cancelled && "canceled",
    message.exitCode !== undefined && message.exitCode !== 0 && `exit code ${asText(message.exitCode)}`,
    message.truncated && `output truncated${message.fullOutputPath ? `; full output was saved to ${asText(message.fullOutputPath)}` : ""}`,
    message.excludeFromContext && "not sent to the model",
  ].filter(Boolean);
  return [
    element("pre", { class: "command" }, plainText(asText(message.command))),
    outputBlock(applyCarriageReturns(asText(message.output)), terminalText),
    facts.length > 0 && element("footer", { class: "facts" }, facts.join(" · ")),
  ];
}

function renderState(entry) {
  const body = element("div", null, folded(asText(entry.customType), () => element("pre", null, asText(entry.data))));
  view.draw(body, { kind: "entry", entry });
  return body;
}

function renderCustom(message) {
  const body = element("div", null, element("span", { class: "note" }, asText(message.customType)), renderContent(message.content));
  view.draw(body, { kind: "message", message: { role: "custom", ...message } });
  return body;
}

function renderSummary(summary, lead) {
  return [element("p", { class: "note" }, lead(summary)), folded("Summary", () => markdown(asText(summary.summary)), true)];
}

function renderSystem(message) {
  const sections = Object.entries(message.sections ?? {});
  return [
    blocksOf(message.content).map((block) => outputBlock(asText(block.text), (text) => document.createTextNode(plainText(text)))),
    sections.map(([name, text]) => folded(text === null ? `${name} (removed)` : name, () => element("pre", { class: "plain" }, plainText(asText(text))))),
    toolList(message.toolsAdded ?? [], "Tools added"),
    (message.toolsRemoved ?? []).length > 0 && element("p", { class: "note" }, `Tools removed: ${message.toolsRemoved.map((tool) => asText(tool?.name ?? tool)).join(", ")}`),
  ];
}

/** Renders a list of tool declarations. */
export function toolList(tools, title) {
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  return folded(`${title} (${tools.length})`, () => tools.map((tool) => element("div", { class: "tool" },
    element("b", null, asText(tool?.name)), element("p", null, plainText(asText(tool?.description))),
    folded("Arguments", () => element("pre", null, asText(tool?.parameters))))));
}

/** Builds a collapsible section whose content is rendered when it is first opened. */
export function folded(title, inside, isOpen = false) {
  const details = element("details", { class: "fold", open: isOpen }, element("summary", null, title));
  const fill = () => append(details, [inside()].flat());
  if (isOpen) fill();
  else details.addEventListener("toggle", fill, { once: true });
  return details;
}

/** Renders text of any length: a preview, and the rest on request. The preview is a part of the text at its beginning or end. */
export function outputBlock(text, build, style = "", previewOf = firstLines) {
  const trimmed = text.replace(/\n+$/, "");
  if (trimmed === "") return undefined;
  const preview = previewOf(trimmed, PREVIEW_LINES);
  const pre = element("pre", { class: `output ${style}` });
  const block = element("div", { class: "output-block" }, pre);
  const isComplete = preview.length === trimmed.length;
  let shown = 0;
  const show = (length) => {
    shown = Math.min(length, trimmed.length);
    pre.replaceChildren(build(shown === preview.length ? preview : trimmed.slice(0, shown)));
    button.textContent = shown < preview.length + 1 ? `Show all ${numberFormat.format(countLines(trimmed))} lines` : shown < trimmed.length ? "Show more" : "Show less";
  };
  const button = element("button", { type: "button", class: "more", click: () => show(shown >= trimmed.length ? preview.length : shown + OUTPUT_STEP) });
  show(view.outputs ? OUTPUT_STEP : preview.length);
  if (!isComplete) {
    block.append(button);
    block.showAll = (isShown) => show(isShown ? OUTPUT_STEP : preview.length);
    block.classList.add("foldable");
  }
  block.append(copyButton(() => plainText(trimmed)));
  return block;
}

/** Returns the first lines of a text, truncated if they are very long. */
function firstLines(text, count) {
  let end = -1;
  for (let line = 0; line < count; line++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) return text.length > OUTPUT_STEP ? text.slice(0, 2000) : text;
  }
  return text.slice(0, Math.min(end, 4000));
}

/** Returns the last lines of a text, truncated if they are very long. */
function lastLines(text, count) {
  let start = text.length;
  for (let line = 0; line < count && start > 0; line++) start = text.lastIndexOf("\n", start - 1);
  const lines = text.slice(start < 0 ? 0 : start + 1);
  return lines.length > 4000 && lines.length < text.length ? lines.slice(-4000) : lines.length > OUTPUT_STEP ? lines.slice(-2000) : lines;
}

function countLines(text) {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** Expands or collapses all thinking blocks and outputs. */
export function applyView(root) {
  for (const block of root.querySelectorAll("details.thinking-block")) block.open = view.thinking;
  for (const block of root.querySelectorAll(".output-block.foldable")) block.showAll(view.outputs);
}
