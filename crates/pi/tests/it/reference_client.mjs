// Drives pi through the RpcClient of the TypeScript pi and prints the results as one line of JSON.
// Arguments: the client module and the export path.

const [clientModule, exportPath] = process.argv.slice(2);
const { RpcClient } = await import(clientModule);

const client = new RpcClient({ cliPath: "pi", model: "mock/alpha" });
const results = {};
await client.start();

results.model = (await client.getState()).model.id;
const events = await client.promptAndWait("one");
results.firstEvents = events.slice(0, 2).map((event) => event.type);
results.lastEvent = events.at(-1).type;
results.text = await client.getLastAssistantText();

await client.steer("later");
await client.followUp("even later");
results.cleared = await client.clearQueue();

const streaming = new Promise((resolve) => {
	const stop = client.onEvent((event) => {
		if (event.type === "message_update") {
			stop();
			resolve();
		}
	});
});
const aborted = client.collectEvents();
// Long enough that compaction keeps only this message.
await client.prompt(`two ${"word ".repeat(200)}`);
await streaming;
await client.abort();
const ends = (await aborted).filter((event) => event.type === "message_end");
results.abortedStop = ends.at(-1).message.stopReason;

results.models = (await client.getAvailableModels()).map((model) => model.id);
results.cycled = (await client.cycleModel()).model.id;
await client.setModel("mock", "alpha");
results.levels = await client.getAvailableThinkingLevels();
await client.setThinkingLevel("high");
results.level = (await client.getState()).thinkingLevel;
results.cycledLevel = (await client.cycleThinkingLevel()).level;
await client.setSteeringMode("all");
await client.setFollowUpMode("one-at-a-time");
await client.setAutoRetry(true);
await client.setAutoCompaction(true);
await client.abortRetry();
results.bash = await client.bash("echo hi");
await client.abortBash();

await client.promptAndWait("three");
results.summary = (await client.compact("be short")).summary.split("\n\n")[0];

results.exported = (await client.exportHtml(exportPath)).path === exportPath;
const file = (await client.getState()).sessionFile;
const messages = await client.getForkMessages();
results.forkMessages = messages.length;
results.fork = await client.fork(messages[0].entryId);
await client.promptAndWait("one again");
results.forkText = await client.getLastAssistantText();
results.clone = await client.clone();
results.switch = await client.switchSession(file);
await client.setSessionName("named");
results.name = (await client.getState()).sessionName;
results.hasTree = (await client.getTree()).tree.length > 0;
results.hasEntries = (await client.getEntries()).entries.length > 0;
await client.getSessionStats();
// Without those that are part of pi.
results.commands = (await client.getCommands()).filter(({ sourceInfo }) => sourceInfo?.source !== "builtin");
results.newSession = await client.newSession(file);
results.messages = (await client.getMessages()).length;

await client.stop();
console.log(JSON.stringify(results));
