// Requests to the server, and the event streams with their reconnects.

/** First and longest delay before a stream is opened again, in milliseconds. */
const FIRST_DELAY = 500;
const LONGEST_DELAY = 15_000;

/** Time after which a hidden page closes a stream that it does not need, in milliseconds. */
const HIDDEN_TIME = 60_000;

/** An answer of the server that is not a success. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * Sends a request and returns the parsed answer.
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @returns {Promise<any>}
 */
export async function request(method, path, body) {
  const headers = { accept: "application/json" };
  if (method !== "GET") Object.assign(headers, { "content-type": "application/json", "x-pi": "1" });
  let response;
  try {
    response = await fetch(path, { method, headers, credentials: "same-origin", body: method === "GET" ? undefined : JSON.stringify(body ?? {}) });
  } catch {
    throw new ApiError("The server is not reachable.", 0);
  }
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  const answer = isJson ? await response.json().catch(() => undefined) : undefined;
  if (response.ok) return answer;
  if (response.status === 401) document.dispatchEvent(new CustomEvent("pi-signed-out"));
  throw new ApiError(answer?.detail ?? answer?.title ?? answer?.error ?? `The server answered with status ${response.status}.`, response.status);
}

let lastCommand = 0;

/**
 * Sends an RPC command to a session and returns the data of its response.
 * @param {string} session
 * @param {any} command
 * @returns {Promise<any>}
 */
export async function sendCommand(session, command) {
  const id = `w${++lastCommand}`;
  const answer = await request("POST", `/v1/sessions/${encodeURIComponent(session)}/commands`, { id, ...command });
  if (answer?.success === false) throw new ApiError(answer.error ?? "The command failed.", 200);
  return answer?.data;
}

/** Answers a request of a session. */
export function answerRequest(session, id, answer) {
  return request("POST", `/v1/sessions/${encodeURIComponent(session)}/requests/${encodeURIComponent(id)}`, answer);
}

/**
 * An event stream that reconnects with its cursor.
 *
 * Handlers: `event` receives the name and the parsed data, `online` whether the stream is open; `isNeeded` returns
 * whether a hidden page keeps it.
 */
export class EventStream {
  /**
   * @param {string} path
   * @param {{ event: (name: string, data: any) => void, online: (isOnline: boolean) => void, isNeeded: () => boolean }} handlers
   * @param {string[]} names names of events other than `message`
   */
  constructor(path, handlers, names = []) {
    this.path = path;
    this.handlers = handlers;
    this.names = names;
    this.cursor = "";
    this.delay = FIRST_DELAY;
    /** @type {EventSource | undefined} */
    this.source = undefined;
    this.isClosed = false;
    this.wake = () => {
      clearTimeout(this.pauseTimer);
      if (document.visibilityState !== "visible") this.pauseTimer = setTimeout(() => this.pause(), HIDDEN_TIME);
      else if (this.source?.readyState !== EventSource.OPEN) this.open();
    };
    document.addEventListener("visibilitychange", this.wake);
    window.addEventListener("online", this.wake);
    this.open();
  }

  open() {
    if (this.isClosed) return;
    clearTimeout(this.timer);
    this.source?.close();
    const address = new URL(this.path, location.href);
    if (this.cursor !== "") address.searchParams.set("after", this.cursor);
    const source = new EventSource(address.href);
    this.source = source;
    source.addEventListener("open", () => {
      this.delay = FIRST_DELAY;
      this.handlers.online(true);
    });
    source.addEventListener("error", () => this.retry(source));
    for (const name of ["message", ...this.names]) source.addEventListener(name, (event) => this.receive(source, name, event));
  }

  receive(source, name, event) {
    if (this.source !== source) return;
    if (event.lastEventId !== "") this.cursor = event.lastEventId;
    let data;
    try {
      data = JSON.parse(event.data);
    } catch {
      return;
    }
    this.handlers.event(name, data);
  }

  retry(source) {
    if (this.source !== source || this.isClosed) return;
    source.close();
    this.handlers.online(false);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), this.delay * (0.75 + Math.random() / 2));
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY);
  }

  /** Closes the stream of a hidden page: browsers allow few connections to a server. It continues when the page is shown. */
  pause() {
    if (document.visibilityState === "visible") return;
    if (this.handlers.isNeeded()) this.pauseTimer = setTimeout(() => this.pause(), HIDDEN_TIME);
    else {
      clearTimeout(this.timer);
      this.source?.close();
    }
  }

  /** Opens the stream again from the beginning: the next event is a snapshot. */
  restart() {
    this.cursor = "";
    this.open();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearTimeout(this.pauseTimer);
    this.source?.close();
    document.removeEventListener("visibilitychange", this.wake);
    window.removeEventListener("online", this.wake);
  }
}
