// Reads the snapshot that starts an event stream into the shape that the page uses.

/**
 * @param {any} snapshot
 */
export function readSnapshot(snapshot) {
  const state = snapshot.state ?? snapshot;
  const status = snapshot.status ?? state.status ?? {};
  const activity = status.kind ?? (state.isStreaming ? "running" : "idle");
  const queue = snapshot.queue ?? state.queue ?? {};
  return {
    cwd: state.cwd ?? snapshot.cwd,
    name: state.name ?? state.sessionName,
    model: state.model ?? undefined,
    thinkingLevel: state.thinkingLevel,
    contextUsage: state.contextUsage ?? snapshot.contextUsage,
    entries: snapshot.entries,
    hasOlder: snapshot.hasMore === true,
    leafId: snapshot.leafId ?? state.leafId,
    message: snapshot.message ?? snapshot.growing ?? undefined,
    status: {
      isRunning: activity !== "idle" && activity !== "compacting" && activity !== "navigating",
      isCompacting: status.isCompacting === true || state.isCompacting === true || activity === "compacting",
    },
    queue: Array.isArray(queue) ? {
      steering: queue.filter((message) => message.delivery === "steer" && message.text).map((message) => message.text),
      followUp: queue.filter((message) => message.delivery === "followUp" && message.text).map((message) => message.text),
    } : { steering: queue.steering ?? [], followUp: queue.followUp ?? [] },
    pending: snapshot.pending ?? state.pending ?? [],
  };
}
