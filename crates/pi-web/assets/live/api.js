// Requests to the server, and the event streams with their reconnects.

/** First and longest delay before a stream is opened again, in milliseconds. */
const FIRST_DELAY = 500;
const LONGEST_DELAY = 15_000;

/** How often a hidden page that keeps its stream checks whether it still needs it, in milliseconds. */
const HIDDEN_TIME = 5_000;

/** How often and for how long a hidden page that waits for news opens its stream, in milliseconds. */
const NEWS_INTERVAL = 20_000;
const NEWS_TIME = 1_000;

/** Names of locks: each is held by one page of the browser. */
const HIDDEN_LOCK = "pi-hidden-page";
const EVENTS_LOCK = "pi-events";

const isShown = () => document.visibilityState === "visible";

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
 * Browsers allow six connections to a server, for all pages together, so a hidden page closes its stream and continues
 * when it is shown. Handlers: `event` receives the name and the parsed data, `online` whether the stream is open;
 * `isNeeded` returns whether a hidden page waits for news.
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
    /** Returns the lock of the hidden page that keeps its stream. @type {(() => void) | undefined} */
    this.release = undefined;
    this.wake = () => {
      clearTimeout(this.pauseTimer);
      // At once: timers of hidden pages may wait for a minute.
      if (!isShown()) {
        this.pause();
        return;
      }
      this.returnLock();
      if (this.source?.readyState !== EventSource.OPEN) this.open();
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

  /** Closes the stream of a hidden page, unless it waits for news and is the one that may keep its stream. */
  pause() {
    if (isShown() || this.isClosed) return;
    if (!this.handlers.isNeeded()) this.rest();
    else if (this.release !== undefined) this.pauseTimer = setTimeout(() => this.pause(), HIDDEN_TIME);
    else if (navigator.locks === undefined) this.decide(false);
    else navigator.locks.request(HIDDEN_LOCK, { ifAvailable: true }, (lock) => this.decide(lock !== null));
  }

  /** Keeps the stream of a hidden page, or closes it until it looks for news. */
  decide(isKept) {
    if (isShown() || this.isClosed) return undefined;
    if (isKept) {
      this.pauseTimer = setTimeout(() => this.pause(), HIDDEN_TIME);
      return new Promise((release) => { this.release = () => release(undefined); });
    }
    this.rest();
    this.pauseTimer = setTimeout(() => {
      this.open();
      this.pauseTimer = setTimeout(() => this.pause(), NEWS_TIME);
    }, NEWS_INTERVAL);
    return undefined;
  }

  rest() {
    clearTimeout(this.timer);
    this.source?.close();
    this.returnLock();
  }

  returnLock() {
    this.release?.();
    this.release = undefined;
  }

  /** Opens the stream again from the beginning: the next event is a snapshot. */
  restart() {
    this.cursor = "";
    this.open();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.pauseTimer);
    this.rest();
    document.removeEventListener("visibilitychange", this.wake);
    window.removeEventListener("online", this.wake);
  }
}

/** The events of the server. One page that is shown receives them and passes them to the others. */
export class SharedStream {
  /**
   * @param {string} path
   * @param {(name: string, data: any) => void} receive
   * @param {string[]} names names of events other than `message`
   */
  constructor(path, receive, names) {
    this.path = path;
    this.receive = receive;
    this.names = names;
    this.channel = new BroadcastChannel(EVENTS_LOCK);
    this.channel.addEventListener("message", ({ data: [name, data] }) => receive(name, data));
    this.turn = new AbortController();
    this.wake = () => {
      this.turn.abort();
      if (!isShown()) return;
      // What was missed.
      receive("snapshot", undefined);
      this.join();
    };
    document.addEventListener("visibilitychange", this.wake);
    if (isShown()) this.join();
  }

  /** Receives the events once no other page does, until this one is hidden. */
  join() {
    const turn = new AbortController();
    this.turn = turn;
    const open = () => new Promise((resolve) => {
      const event = (/** @type {string} */ name, /** @type {any} */ data) => {
        this.receive(name, data);
        this.channel.postMessage([name, data]);
      };
      const stream = new EventStream(this.path, { event, online: () => undefined, isNeeded: () => false }, this.names);
      turn.signal.addEventListener("abort", () => {
        stream.close();
        resolve(undefined);
      });
    });
    if (navigator.locks === undefined) open();
    else navigator.locks.request(EVENTS_LOCK, { signal: turn.signal }, open).catch(() => undefined);
  }

  close() {
    this.turn.abort();
    this.channel.close();
    document.removeEventListener("visibilitychange", this.wake);
  }
}
