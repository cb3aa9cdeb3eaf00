// https: the client.
import { Agent, makeRequest } from "pi:http_client";

export const { request, get } = makeRequest("https");
export const globalAgent = new Agent();
export { Agent };
export default { Agent, request, get, globalAgent };
