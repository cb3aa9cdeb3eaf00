// The `pi` object of one extension.
import { requireModule } from "pi:native";
import { createEventBus } from "pi:pi/event_bus";
import { contentOf, customMessageOf, parametersOf, textOf } from "pi:pi/tolerance";
import { describeCommand, describeProvider, describeTool, describeVirtualModel, publishSubscriptions } from "pi:pi/registry";

const bus = createEventBus();
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

function requireNonEmpty(value, name) {
  if (typeof value !== "string" || value === "") throw new TypeError(`${name} must be a non-empty string`);
}

function withoutModel(models, provider, id) {
  return models.filter((known) => known.provider !== provider || known.id !== id);
}

// Handlers run up to their first await before the registration returns.
function notifyServersChanged(extension) {
  if (extension.isBound) requireModule("pi:pi/dispatch").emitServersChange(extension.scope, extension.scope.call("registration.mcpServers"));
}

// Creates the object that is passed to an extension's factory.
export function createApi(extension) {
  const call = (method, args) => extension.scope.call(method, args);
  const request = (method, args) => extension.scope.request(method, args);
  return {
    on(event, handler) {
      requireNonEmpty(event, "event name");
      if (typeof handler !== "function") throw new TypeError(`handler for ${event} must be a function`);
      const handlers = extension.handlers.get(event) ?? [];
      // Copied, since a running dispatch keeps iterating over the old list.
      extension.handlers.set(event, [...handlers, handler]);
      publishSubscriptions(extension);
      return () => {
        const current = extension.handlers.get(event) ?? [];
        const position = current.indexOf(handler);
        if (position < 0) return;
        extension.handlers.set(event, current.filter((_, index) => index !== position));
        publishSubscriptions(extension);
      };
    },

    registerTool(tool) {
      requireNonEmpty(tool?.name, "tool name");
      if (typeof tool.execute !== "function") throw new TypeError(`tool ${tool.name} has no execute function`);
      if (parametersOf(tool.parameters)?.type !== "object") {
        throw new TypeError(`parameters of tool ${tool.name} must be an object schema`);
      }
      extension.tools.set(tool.name, tool);
      if (extension.isBound) call("registration.tool", { extension: extension.key, tool: describeTool(tool) });
    },
    registerCommand(name, command) {
      requireNonEmpty(name, "command name");
      if (typeof command?.handler !== "function") throw new TypeError(`command ${name} has no handler function`);
      extension.commands.set(name, command);
      if (extension.isBound) call("registration.command", { extension: extension.key, command: describeCommand(name, command) });
    },
    registerShortcut(key, shortcut) {
      requireNonEmpty(key, "shortcut key");
      extension.shortcuts.set(key, shortcut);
      if (extension.isBound) call("registration.shortcut", { extension: extension.key, shortcut: { key, description: shortcut.description } });
    },
    registerFlag(name, flag) {
      requireNonEmpty(name, "flag name");
      extension.flags.set(name, { ...flag, value: flag.default });
    },
    getFlag(name) {
      return extension.flags.get(name)?.value;
    },
    registerMessageRenderer(customType, renderer) {
      extension.messageRenderers.set(customType, renderer);
      if (extension.isBound) call("registration.renderer", { kind: "message", customType });
    },
    registerEntryRenderer(customType, renderer) {
      extension.entryRenderers.set(customType, renderer);
      if (extension.isBound) call("registration.renderer", { kind: "entry", customType });
    },
    registerMarkdownTransformer(transformer) {
      extension.markdownTransformer = transformer;
      if (extension.isBound) call("registration.renderer", { kind: "markdown" });
    },
    registerToolRenderer(resolver) {
      if (typeof resolver !== "function") throw new TypeError("a tool renderer must be a function");
      extension.toolRenderers.push(resolver);
      if (extension.isBound) call("registration.renderer", { kind: "tool" });
    },
    registerProvider(nameOrProvider, config) {
      const [name, settings] = typeof nameOrProvider === "string" ? [nameOrProvider, config ?? {}] : [nameOrProvider.id, nameOrProvider];
      requireNonEmpty(name, "provider name");
      extension.providers = [...extension.providers.filter((known) => known.name !== name), { name, config: settings }];
      extension.runtime?.pendingProviderRegistrations.push({ name, config: settings, extensionPath: extension.path });
      if (extension.isBound) call("registration.provider", { extension: extension.key, provider: describeProvider(name, settings) });
    },
    unregisterProvider(name) {
      extension.providers = extension.providers.filter((known) => known.name !== name);
      if (extension.isBound) call("registration.removeProvider", { name });
    },

    // The program checks and stores servers, also while extensions load.
    registerMcpServer(name, config) {
      requireNonEmpty(name, "server name");
      call("registration.mcpServer", { extension: extension.key, name, config });
      notifyServersChanged(extension);
    },
    unregisterMcpServer(name) {
      const isRemoved = call("registration.removeMcpServer", { extension: extension.key, name });
      if (isRemoved) notifyServersChanged(extension);
    },
    getMcpServers() {
      return call("registration.mcpServers");
    },
    registerVirtualModel(definition) {
      requireNonEmpty(definition?.provider?.trim(), "provider of a virtual model");
      requireNonEmpty(definition.id?.trim(), "ID of a virtual model");
      const { provider, id } = definition;
      if (typeof definition.route !== "function") throw new TypeError(`virtual model ${provider}/${id} has no route function`);
      if (extension.isBound) call("registration.virtualModel", { extension: extension.key, model: describeVirtualModel(definition) });
      extension.virtualModels = [...withoutModel(extension.virtualModels, provider, id), definition];
    },
    unregisterVirtualModel(provider, id) {
      extension.virtualModels = withoutModel(extension.virtualModels, provider, id);
      if (extension.isBound) call("registration.removeVirtualModel", { provider, id });
    },

    sendMessage(message, options) {
      call("run.sendMessage", { message: customMessageOf(message), options: options ?? {} });
    },
    sendUserMessage(content, options) {
      call("run.sendUserMessage", { content: contentOf(content), options: options ?? {} });
    },
    appendEntry(customType, data) {
      call("session.appendEntry", { customType: String(customType), data });
    },
    setSessionName(name) {
      call("session.setName", { name });
    },
    getSessionName() {
      return call("session.name") ?? undefined;
    },
    setLabel(entryId, label) {
      call("session.setLabel", { entryId, label: textOf(label) });
    },
    exec(command, args, options) {
      // Loaded lazily, since child processes depend on many Node modules.
      return requireModule("pi:pi/exec").exec(command, args, { ...options, cwd: options?.cwd ?? call("program.context").cwd });
    },
    getActiveTools() {
      return call("tools.active");
    },
    getAllTools() {
      return requireModule("pi:pi/tools").allTools(extension.scope);
    },
    setActiveTools(names) {
      call("tools.setActive", { names: [...names].map(String) });
    },
    getCommands() {
      return call("program.commands");
    },
    getSettings() {
      return call("utility.loadSettings", {});
    },
    setModel(model) {
      return request("model.set", { provider: model.provider, id: model.id });
    },
    getThinkingLevel() {
      return call("thinking.level");
    },
    setThinkingLevel(level) {
      call("thinking.set", { level: LEVELS.includes(level) ? level : "off" });
    },
    events: bus,
  };
}
