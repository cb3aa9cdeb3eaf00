// Drives a pi through the TypeScript pi's RpcClient and prints what came of it as one line of JSON.
// Arguments: the client's module, and where to export to.

const [clientModule, exportPath] = process.argv.slice(2);
const { RpcClient } = await import(clientModule);

const client = new RpcClient({ cliPath: "pi", model: "mock/alpha" });
const seen = {};
await client.start();

seen.model = (await client.getState()).model.id;
const events = await client.promptAndWait("one");
seen.firstEvents = events.slice(0, 2).map((event) => event.type);
seen.lastEvent = events.at(-1).type;
seen.text = await client.getLastAssistantText();

await client.steer("later");
await client.followUp("even later");
seen.cleared = await client.clearQueue();

const streaming = new Promise((resolve) => {
	const stop = client.onEvent((event) => {
		if (event.type === "message_update") {
			stop();
			resolve();
		}
	});
});
const aborted = client.collectEvents();
// Long enough to be all that a compaction keeps.
await client.prompt(`two ${"word ".repeat(200)}`);
await streaming;
await client.abort();
const ends = (await aborted).filter((event) => event.type === "message_end");
seen.abortedStop = ends.at(-1).message.stopReason;

seen.models = (await client.getAvailableModels()).map((model) => model.id);
seen.cycled = (await client.cycleModel()).model.id;
await client.setModel("mock", "alpha");
seen.levels = await client.getAvailableThinkingLevels();
await client.setThinkingLevel("high");
seen.level = (await client.getState()).thinkingLevel;
seen.cycledLevel = (await client.cycleThinkingLevel()).level;
await client.setSteeringMode("all");
await client.setFollowUpMode("one-at-a-time");
await client.setAutoRetry(true);
await client.setAutoCompaction(true);
await client.abortRetry();
seen.bash = await client.bash("echo hi");
await client.abortBash();

await client.promptAndWait("three");
seen.summary = (await client.compact("be short")).summary.split("\n\n")[0];

seen.exported = (await client.exportHtml(exportPath)).path === exportPath;
const file = (await client.getState()).sessionFile;
const messages = await client.getForkMessages();
seen.forkMessages = messages.length;
seen.fork = await client.fork(messages[0].entryId);
await client.promptAndWait("one again");
seen.forkText = await client.getLastAssistantText();
seen.clone = await client.clone();
seen.switch = await client.switchSession(file);
await client.setSessionName("named");
seen.name = (await client.getState()).sessionName;
seen.hasTree = (await client.getTree()).tree.length > 0;
seen.hasEntries = (await client.getEntries()).entries.length > 0;
await client.getSessionStats();
seen.commands = await client.getCommands();
seen.newSession = await client.newSession(file);
seen.messages = (await client.getMessages()).length;

await client.stop();
console.log(JSON.stringify(seen));
