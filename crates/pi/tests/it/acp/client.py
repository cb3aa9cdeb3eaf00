# Runs a scenario with the client of the official SDK for Python and prints what it saw.
# Arguments: the binary, the working directory, the scenario as JSON.
import asyncio
import json
import os
import sys

import acp

BINARY, CWD = sys.argv[1:3]
SCENARIO = json.loads(sys.argv[3])
report = {"text": "", "replayed": "", "commands": 0, "permissions": 0}


class Client:
    is_replaying = False
    connection = None

    async def request_permission(self, session_id, tool_call, options, **_):
        report["permissions"] += 1
        return {"outcome": {"outcome": "selected", "optionId": SCENARIO["permission"]}}

    async def session_update(self, session_id, update, **_):
        kind = update.session_update
        if kind == "available_commands_update":
            report["commands"] = len(update.available_commands)
        if kind == "agent_message_chunk":
            report["replayed" if self.is_replaying else "text"] += update.content.text
            if SCENARIO["cancel"] and not self.is_replaying:
                await self.connection.cancel(session_id=session_id)
        for item in (getattr(update, "content", None) or []) if kind == "tool_call_update" else []:
            if item.type == "diff" and not self.is_replaying:
                report["diff"] = {"newText": item.new_text}

    def on_connect(self, connection):
        self.connection = connection


async def with_agent(client, work):
    spawned = acp.spawn_agent_process(client, BINARY, "acp", env=dict(os.environ), cwd=CWD)
    async with spawned as (connection, _process):
        await connection.initialize(protocol_version=1)
        await work(connection)


async def main():
    client = Client()
    session = None

    async def turn(connection):
        nonlocal session
        session = (await connection.new_session(cwd=CWD, mcp_servers=[])).session_id
        if SCENARIO["thinking"]:
            await connection.set_config_option(config_id="thinking", session_id=session, value=SCENARIO["thinking"])
        turn = await connection.prompt(session_id=session, prompt=[acp.text_block("Write a file")])
        report["stopReason"] = turn.stop_reason

    async def again(connection):
        client.is_replaying = True
        await connection.load_session(session_id=session, cwd=CWD, mcp_servers=[])
        await connection.close_session(session_id=session)
        await connection.resume_session(session_id=session, cwd=CWD, mcp_servers=[])
        report["resumed"] = True

    await with_agent(client, turn)
    await with_agent(client, again)
    print(json.dumps(report))


asyncio.run(main())
