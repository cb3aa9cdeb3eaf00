// Transcript rows rendered by extensions: tool calls, custom messages and entries. A row is created on its first
// render and keeps the components returned by its renderers.
import { call } from "pi:host";
import { rendering } from "pi:pi/costs";
import { reportError } from "pi:pi/report";
import { extensions } from "pi:pi/registry";
import { theme } from "pi:pi/theme";
import { keyHint, keyText } from "pi:tui/key_hints";

const rows = new Map();
// Renderers that failed, so that each error is reported once.
const failed = new Set();

function report(path, source, error) {
  const name = `${path} ${source}`;
  if (failed.has(name)) return;
  failed.add(name);
  reportError(path, source, error);
}

// Renders a component. Returns null if it does not return lines.
function renderLines(component, width) {
  const rendered = component?.render(width);
  return Array.isArray(rendered) ? rendered.join("\n") : null;
}

function renderSlot(row, slot, path, source, make, width) {
  try {
    return rendering(path, () => {
      row[slot] = make(row[slot]);
      return renderLines(row[slot], width);
    });
  } catch (error) {
    row[slot] = undefined;
    report(path, source, error);
    return null;
  }
}

function rowOf(id) {
  let row = rows.get(id);
  if (!row) rows.set(id, (row = { state: {} }));
  return row;
}

// Returns the renderers of a tool: what the resolvers choose, in load order, else the tool itself.
function renderersOf(name) {
  const resolvers = extensions.flatMap(({ path, toolRenderers }) => toolRenderers.map((resolver) => [path, resolver]));
  const resolveFrom = (index) => {
    if (index === resolvers.length) return extensions.find((extension) => extension.tools.has(name))?.tools.get(name);
    const [path, resolver] = resolvers[index];
    try {
      return resolver(name, () => resolveFrom(index + 1));
    } catch (error) {
      report(path, "tool renderer", error);
      return resolveFrom(index + 1);
    }
  };
  return resolveFrom(0);
}

// Called by the program to render a tool call and its result.
export function renderTool(id, width, data) {
  const { extension, tool: name, cwd, result, durationMs, ...shared } = data;
  const known = typeof durationMs === "number" ? { ...shared, durationMs } : shared;
  const tool = renderersOf(name);
  if (!tool) return null;
  const row = rowOf(id);
  row.args = known.args;
  const context = (lastComponent) => ({
    ...known,
    cwd,
    state: row.state,
    lastComponent,
    keyText,
    keyHint,
    invalidate: () => void call("screen.change", { kind: "rowChanged", id }),
  });
  const rendered = { call: null, result: null };
  if (tool.renderCall) {
    rendered.call = renderSlot(row, "call", extension, `renderCall of ${name}`, (last) => tool.renderCall(known.args, theme, context(last)), width);
  }
  if (result && tool.renderResult) {
    const options = { expanded: known.expanded, isPartial: known.isPartial };
    rendered.result = renderSlot(row, "result", extension, `renderResult of ${name}`, (last) => tool.renderResult(result, options, theme, context(last)), width);
  }
  return rendered;
}

function rendererOf(kind, type) {
  for (const extension of extensions) {
    const renderer = extension[kind].get(type);
    if (renderer) return [extension.path, renderer];
  }
  return undefined;
}

// Called by the program to render a custom message or entry.
export function renderCustom(id, width, data) {
  const { kind, type, value, expanded, outputPad } = data;
  const found = rendererOf(kind === "entry" ? "entryRenderers" : "messageRenderers", type);
  if (!found) return null;
  const [path, renderer] = found;
  const options = kind === "entry" ? { expanded, keyText, keyHint } : { expanded, outputPad, keyText, keyHint };
  return { lines: renderSlot(rowOf(id), "component", path, `renderer of ${type}`, () => renderer(value, options, theme), width) };
}

// Called by the program when rows are removed from the screen.
export function forgetRows(ids) {
  for (const id of ids) rows.delete(id);
}

// Called by the program to apply the Markdown transformers of extensions to each part.
export function transformMarkdown(parts, { messageId, timestamp, ...state }) {
  // Live messages have neither.
  const shared = { ...state, messageId: messageId ?? undefined, timestamp: timestamp ?? undefined };
  return parts.map(({ text, messageType }) => {
    let markdown = text;
    for (const { path, markdownTransformer } of extensions) {
      if (!markdownTransformer) continue;
      try {
        const changed = rendering(path, () => markdownTransformer(markdown, { ...shared, messageType }));
        if (typeof changed === "string") markdown = changed;
      } catch (error) {
        report(path, "markdown transformer", error);
      }
    }
    return markdown;
  });
}
