// Read-only view of the live session.
import { mainScope } from "pi:pi/scope";
import { requireModule } from "pi:native";

const optional = (value) => value ?? undefined;

// Creates a view that always reads the current session.
export function createSessionView({ call } = mainScope) {
  return {
    getCwd: () => call("program.context").cwd,
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
    getEntryCount: () => call("session.entryCount"),
    getBranch: (fromId) => (typeof fromId === "string" && !call("session.entry", { id: fromId }) ? [] : call("session.branch", { fromId })),
    getChildren: (parentId) => call("session.entries").filter((entry) => entry.parentId === parentId),
    getLabel: (id) => optional(call("session.label", { id })),
    getTree() {
      const { treeOf } = requireModule("pi:pi/session_manager");
      return treeOf(call("session.entries"), (id) => optional(call("session.label", { id })));
    },
    buildSessionContext: () => call("session.context"),
    buildSessionProjection: () => ({ ...call("session.context"), entries: call("session.projection") }),
    buildContextEntries: () => call("session.projection").map(({ sourceEntry }) => sourceEntry),
  };
}
