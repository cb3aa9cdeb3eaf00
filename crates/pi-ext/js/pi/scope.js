// The sessions that extensions belong to: the main one, and those of agents. The calls of a scope are about its session.
import { call, request } from "pi:host";

class Scope {
  constructor(agent, calls) {
    // 0 is the main session.
    this.agent = agent;
    // In load order, which is the dispatch order.
    this.extensions = [];
    this.call = calls.call;
    this.request = calls.request;
    // What `bindExtensions` of an agent has set.
    this.bindings = {};
  }
}

export const mainScope = new Scope(0, { call, request });

const agentScopes = new Map();

const calls = (agent) => ({
  call: (method, args) => call("agent.call", { agent, method, arguments: args ?? {} }),
  request: (method, args) => request("agent.request", { agent, method, arguments: args ?? {} }),
});

const notStarted = () => {
  throw new Error("the session of this extension has not started");
};

// A scope for extensions whose agent does not exist yet.
export function createLoadingScope() {
  return new Scope(undefined, { call: notStarted, request: notStarted });
}

export function createAgentScope(agent) {
  const scope = new Scope(agent, calls(agent));
  agentScopes.set(agent, scope);
  return scope;
}

export function removeAgentScope(agent) {
  agentScopes.delete(agent);
}

// Returns the scope of an agent; undefined if the agent is gone.
export function scopeOf(agent) {
  return agent ? agentScopes.get(agent) : mainScope;
}

// Finds an extension of any session.
export function findExtension(key) {
  const isFound = (extension) => extension.key === key;
  const found = mainScope.extensions.find(isFound);
  if (found || agentScopes.size === 0) return found;
  for (const scope of agentScopes.values()) {
    const own = scope.extensions.find(isFound);
    if (own) return own;
  }
  return undefined;
}
