"""A tool server inside a FastAPI application: OXP and MCP for agents, beside your own routes.

    uvicorn tool_server_fastapi:app

Prints:
    GET /: {'tools': 1}
    POST /agent/tools/call: rang front
    the same call again: rang front, replayed: true
"""

from fastapi import FastAPI
from fastapi.testclient import TestClient

from toolwire import ToolServer, tool


@tool(id="Doorbell.Ring@1.0.0")
def ring(doorbell: str) -> str:
    """Ring a doorbell.

    Args:
        doorbell: The name of the doorbell.
    """
    return f"rang {doorbell}"


# With ledger=SqliteLedger("calls.db") it remembers calls over restarts.
server = ToolServer(ring, allowed_hosts=["testserver"])
app = FastAPI()
app.mount("/agent", server)


@app.get("/")
def index() -> dict[str, int]:
    return {"tools": len(server.tools)}


if __name__ == "__main__":
    call = {"tool_id": "Doorbell.Ring", "call_id": "call-1", "input": {"doorbell": "front"}}
    with TestClient(app) as client:
        print("GET /:", client.get("/").json())
        first = client.post("/agent/tools/call", json={"request": call})
        print("POST /agent/tools/call:", first.json()["result"]["value"])
        again = client.post("/agent/tools/call", json={"request": call})
        replayed = again.headers["idempotent-replayed"]
        print(f"the same call again: {again.json()['result']['value']}, replayed: {replayed}")
