// The session as extensions may read it.
import { call } from "pi:host";

const optional = (value) => value ?? undefined;

// Builds the tree of all entries; labels are those in force.
function treeOf() {
  const nodes = new Map();
  const roots = [];
  for (const entry of call("session.entries")) {
    const node = { entry, children: [], label: optional(call("session.label", { id: entry.id })) };
    nodes.set(entry.id, node);
    (nodes.get(entry.parentId)?.children ?? roots).push(node);
  }
  return roots;
}

// Makes the view; it reads the session of the moment.
export function createSessionView() {
  return {
    getCwd: () => call("context").cwd,
    getSessionDir: () => call("session.info").directory,
    getSessionId: () => call("session.info").id,
    getSessionFile: () => optional(call("session.info").file),
    isPersisted: () => call("session.info").file !== null,
    getSessionName: () => optional(call("session.name")),
    getHeader: () => call("session.header"),
    getLeafId: () => call("session.info").leafId,
    getLeafEntry: () => optional(call("session.entry", { id: call("session.info").leafId })),
    getEntry: (id) => optional(call("session.entry", { id })),
    getEntries: () => call("session.entries"),
    getBranch: (fromId) => call("session.branch", { fromId }),
    getChildren: (parentId) => call("session.entries").filter((entry) => entry.parentId === parentId),
    getLabel: (id) => optional(call("session.label", { id })),
    getTree: treeOf,
    buildSessionContext: () => call("session.context"),
  };
}
