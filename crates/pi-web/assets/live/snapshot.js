// Reads the snapshot that starts an event stream into the shape that the page uses.

/** Activities in which a message steers instead of starting a run. */
const RUNNING = new Set(["preparing", "running", "settling"]);

/**
 * @param {any} snapshot
 */
export function readSnapshot(snapshot) {
  const { status = {}, queue = [] } = snapshot;
  const textsOf = (delivery) => queue.filter((message) => message.delivery === delivery && message.text).map((message) => message.text);
  return {
    cwd: snapshot.cwd,
    name: snapshot.name ?? undefined,
    model: snapshot.model ?? undefined,
    thinkingLevel: snapshot.thinkingLevel,
    contextUsage: snapshot.contextUsage ?? undefined,
    entries: snapshot.entries,
    hasOlder: snapshot.hasMore === true,
    leafId: snapshot.leafId,
    message: snapshot.message ?? undefined,
    status: { isRunning: RUNNING.has(status.kind), isCompacting: status.isCompacting === true },
    queue: { steering: textsOf("steer"), followUp: textsOf("followUp") },
    pending: snapshot.pending ?? [],
  };
}
