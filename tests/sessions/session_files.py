"""Session files made by hand, in the formats of several programs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from toolwire.conversation.json import JSON, Object

TIME = "2026-05-01T10:00:00.000Z"
ENVELOPE: Object = {
    "isSidechain": False,
    "userType": "external",
    "cwd": "/project",
    "sessionId": "5b0f6f4e-3a51-4b6a-9c1d-2f6a3c1b7e10",
    "version": "2.1.0",
    "gitBranch": "main",
}


def jsonl(rows: Sequence[JSON]) -> bytes:
    """Rows as the programs write them: compact, one on each line."""
    lines = [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode()


# --- chat messages, one on each line --------------------------------------------------------------


def chat_call(*ids: str) -> Object:
    calls: list[JSON] = [
        {
            "id": one,
            "type": "function",
            "function": {"name": "look", "arguments": f'{{"n":"{one}"}}'},
        }
        for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_result(call_id: str, text: str = "7") -> Object:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


# --- Claude Code ----------------------------------------------------------------------------------


def claude_user(uuid: str, parent: str | None, content: JSON, **more: JSON) -> Object:
    message: Object = {"role": "user", "content": content}
    return _claude_line(uuid, parent, "user", message, more)


def claude_answer(
    uuid: str, parent: str | None, block: Object, *, answer: str, **more: JSON
) -> Object:
    message: Object = {
        "id": answer,
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [block],
        "usage": {"output_tokens": 1},
    }
    return _claude_line(uuid, parent, "assistant", message, more)


def _claude_line(
    uuid: str, parent: str | None, kind: str, message: Object, more: dict[str, JSON]
) -> Object:
    line: Object = {"parentUuid": parent, **ENVELOPE, "type": kind, "message": message}
    return {**line, "uuid": uuid, "timestamp": TIME, **more}


def tool_use(call_id: str) -> Object:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": call_id}}


def tool_result(call_id: str, text: str = "done") -> list[JSON]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": text}]


def text(words: str) -> Object:
    return {"type": "text", "text": words}


def claude_parallel() -> list[JSON]:
    """Two parallel calls: each result hangs on its own call, so one is beside the chain."""
    return [
        {"type": "summary", "summary": "Tests", "leafUuid": "a4"},
        claude_user("u1", None, "Run the tests – all of them."),
        claude_answer("a1", "u1", text("Two commands."), answer="msg_1"),
        claude_answer("a2", "a1", tool_use("toolu_01A"), answer="msg_1"),
        claude_answer("a3", "a2", tool_use("toolu_01B"), answer="msg_1"),
        claude_user("u2", "a2", tool_result("toolu_01A"), toolUseResult={"stdout": "done"}),
        claude_user("u3", "a3", tool_result("toolu_01B"), toolUseResult={"stdout": "done"}),
        claude_answer("a4", "u3", text("All green."), answer="msg_2"),
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    ]


# --- Codex ----------------------------------------------------------------------------------------


def codex(kind: str, payload: JSON) -> Object:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def codex_message(role: str, words: str) -> Object:
    kind = "output_text" if role == "assistant" else "input_text"
    content: list[JSON] = [{"type": kind, "text": words}]
    return codex("response_item", {"type": "message", "role": role, "content": content})


def codex_call(call_id: str) -> Object:
    call: Object = {
        "type": "function_call",
        "name": "shell",
        "arguments": '{"command":["ls"]}',
        "call_id": call_id,
    }
    return codex("response_item", call)


def codex_result(call_id: str, output: str = "done") -> Object:
    return codex(
        "response_item", {"type": "function_call_output", "call_id": call_id, "output": output}
    )


def codex_session() -> list[JSON]:
    return [
        codex("session_meta", {"id": "0199", "cwd": "/project", "cli_version": "0.166.0"}),
        codex("turn_context", {"cwd": "/project", "model": "gpt-5"}),
        codex_message(
            "user", "<environment_context>\n  <cwd>/project</cwd>\n</environment_context>"
        ),
        codex_message("user", "List the files."),
        codex("event_msg", {"type": "user_message", "message": "List the files."}),
        codex_call("call_1"),
        codex_result("call_1"),
        codex("event_msg", {"type": "token_count", "info": None}),
        codex_message("assistant", "Three files."),
        codex_message("user", "And now?"),
        codex_call("call_2"),
        codex_result("call_2"),
        codex_message("assistant", "Still three."),
    ]


# --- Gemini CLI -----------------------------------------------------------------------------------


def gemini_call(call_id: str, *, done: bool = True) -> Object:
    call: Object = {"id": call_id, "name": "ls", "args": {"path": call_id}, "status": "success"}
    if done:
        response: Object = {"id": call_id, "name": "ls", "response": {"output": "done"}}
        call["result"] = [{"functionResponse": response}]
    return call


def gemini_records(*calls: Object) -> list[JSON]:
    return [
        {"id": "1", "timestamp": TIME, "type": "user", "content": [{"text": "List the files."}]},
        {"id": "i", "timestamp": TIME, "type": "info", "content": "Update available."},
        {"id": "2", "timestamp": TIME, "type": "gemini", "content": "", "toolCalls": list(calls)},
        {"id": "3", "timestamp": TIME, "type": "gemini", "content": "Three files."},
        {"id": "4", "timestamp": TIME, "type": "user", "content": [{"text": "Thanks."}]},
    ]


def gemini_session(*calls: Object) -> list[JSON]:
    first: Object = {"sessionId": "s", "projectHash": "h", "startTime": TIME}
    return [first, *gemini_records(*calls), {"$set": {"lastUpdated": TIME}}]
