// Rows of the transcript that extensions draw: calls of their tools, their messages and entries. A row is made
// when the program first asks for its lines and is kept with the components its renderers returned.
import { call } from "pi:host";
import { reportError } from "pi:pi/report";
import { extensionOf, extensions } from "pi:pi/registry";
import { theme } from "pi:pi/theme";

const rows = new Map();
// Renderers that failed, so that each is told of once.
const failed = new Set();

function report(path, what, error) {
  const name = `${path} ${what}`;
  if (failed.has(name)) return;
  failed.add(name);
  reportError(path, what, error);
}

// Draws a part of a row; nothing where there is no renderer or it failed.
function lines(component, width) {
  const drawn = component?.render(width);
  return Array.isArray(drawn) ? drawn.join("\n") : null;
}

function part(row, slot, path, what, make, width) {
  try {
    row[slot] = make(row[slot]);
    return lines(row[slot], width);
  } catch (error) {
    row[slot] = undefined;
    report(path, what, error);
    return null;
  }
}

function rowOf(id) {
  let row = rows.get(id);
  if (!row) rows.set(id, (row = { state: {} }));
  return row;
}

// Called by the program: the lines of a call and of its result.
export function renderTool(id, width, data) {
  const { extension, tool: name, cwd, result, ...known } = data;
  const tool = extensionOf(extension).tools.get(name);
  if (!tool) return null;
  const row = rowOf(id);
  row.args = known.args;
  const context = (lastComponent) => ({
    ...known,
    cwd,
    state: row.state,
    lastComponent,
    invalidate: () => void call("ui.change", { kind: "rowChanged", id }),
  });
  const drawn = { call: null, result: null };
  if (tool.renderCall) {
    drawn.call = part(row, "call", extension, `renderCall of ${name}`, (last) => tool.renderCall(known.args, theme, context(last)), width);
  }
  if (result && tool.renderResult) {
    const options = { expanded: known.expanded, isPartial: known.isPartial };
    drawn.result = part(row, "result", extension, `renderResult of ${name}`, (last) => tool.renderResult(result, options, theme, context(last)), width);
  }
  return drawn;
}

function rendererOf(kind, type) {
  for (const extension of extensions) {
    const renderer = extension[kind].get(type);
    if (renderer) return [extension.path, renderer];
  }
  return undefined;
}

// Called by the program: the lines of a message, or of an entry, of an extension.
export function renderCustom(id, width, data) {
  const { kind, type, value, expanded, outputPad } = data;
  const found = rendererOf(kind === "entry" ? "entryRenderers" : "messageRenderers", type);
  if (!found) return null;
  const [path, renderer] = found;
  const options = kind === "entry" ? { expanded } : { expanded, outputPad };
  return { lines: part(rowOf(id), "component", path, `renderer of ${type}`, () => renderer(value, options, theme), width) };
}

// Called by the program when rows are gone from the screen.
export function forgetRows(ids) {
  for (const id of ids) rows.delete(id);
}

// Called by the program: Markdown as extensions want it shown, part by part.
export function transformMarkdown(parts, shared) {
  return parts.map(({ text, messageType }) => {
    let markdown = text;
    for (const { path, markdownTransformer } of extensions) {
      if (!markdownTransformer) continue;
      try {
        const changed = markdownTransformer(markdown, { ...shared, messageType });
        if (typeof changed === "string") markdown = changed;
      } catch (error) {
        report(path, "markdown transformer", error);
      }
    }
    return markdown;
  });
}
