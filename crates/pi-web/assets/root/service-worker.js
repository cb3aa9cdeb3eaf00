// Keeps the files of the page, so that it opens without a connection. Sessions are never cached: requests below
// `/v1/` go to the server only.

const CACHE = "pi-shell";

const worker = /** @type {any} */ (self);

const isShell = (url) => url.origin === location.origin && !url.pathname.startsWith("/v1/") && !url.pathname.startsWith("/acp") && !url.pathname.startsWith("/mcp");

/** Where browsers support it, nothing waits for the start of this worker. */
const routes = () => [
  { condition: { urlPattern: new worker.URLPattern({ pathname: "/v1/*" }) }, source: "network" },
  { condition: { runningStatus: "not-running", requestMethod: "GET" }, source: "race-network-and-fetch-handler" },
];

worker.addEventListener("install", (event) => event.waitUntil(Promise.all([worker.skipWaiting(), event.addRoutes?.(routes())])));

worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || !isShell(url)) return;
  event.respondWith(newestOrCached(event.request));
});

/** The server's version if it answers, so that an update of pi is seen at once. */
async function newestOrCached(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const cached = await cache.match(request);
    if (cached !== undefined) return cached;
    throw error;
  }
}
